import { messageOf } from '../base/errors.ts'
import { demote, goToGate, type Place } from '../db/runners.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { isTransient } from '../processes/spawned.ts'
import type { Candidacy } from './candidacy.ts'
import { type Promoted, passGate, type Unpromoted } from './gate.ts'
import type { Run } from './options.ts'
import { type Prepared, prepare } from './prepare.ts'
import { REASONS } from './reasons-to-wait.ts'
import { type WaitOptions, waitWhile } from './wait-while.ts'
import { beatWhileWaiting } from './waiting-heartbeat.ts'

/** A term, with what its leader needs. */
export type Ready = Promoted & { readonly prepared: Promise<Prepared> }

/** Why there is none; `succeeded`: we have handed over, and the newer runner leads. */
export type Unready = Unpromoted | { readonly term?: undefined; readonly why: 'succeeded' }

/**
 * Waits for our turn, and passes the gate. A runner that waits for others stands by again while an unknown process
 * holds the data dir. Throws AppError when an older runner cannot be ended, or when the data dir stays held and we take
 * over.
 */
export async function standBy(run: Run, me: Place, candidacy: Candidacy): Promise<Ready | Unready> {
  const { home, log, outage, signals } = run
  const heart = beatWhileWaiting(run)
  let begun: Promise<Prepared> | undefined
  const prepared = () => {
    begun ??= prepare(run)
    return begun
  }
  const options = {
    ...run,
    stop: heart.stop,
    waitsFor: heart.waitsFor,
    away: (error: unknown) => {
      if (isDatabaseAway(error)) outage.seen(error)
      else if (isTransient(error)) log.warn(`looking for who leads: ${messageOf(error)}; trying again`)
      else throw error
    },
    onAsked: async () => void prepared(),
    prepared: async () => void (await prepared()),
  }
  try {
    if (candidacy.reasons.length > 0) void prepared()
    for (let said = false; ; said = true) {
      const place = await ourTurn(options, me, candidacy)
      if (place === 'succeeded') return { why: place }
      if (candidacy.reasons.includes('for a newer one to lead')) signals.expectNone()
      const passed = await passGate(options, place)
      if (passed.term) return { ...passed, prepared: prepared() }
      if (heart.lost.aborted && !signals.stop.drain.aborted) return { why: 'lost' }
      if (passed.why !== 'held') return passed
      if (!candidacy.reasons.includes('for others')) throw passed.error
      if (!said) log.warn(`${passed.error.message}: standing by`)
      heart.waitsFor(passed.error.message)
      if (!(await demote(home, me.id))) return { why: 'lost' }
    }
  } finally {
    heart.end()
  }
}

/**
 * Waits while there is a reason to, or until we are told to stop.
 * @returns our place in line at the gate; `succeeded` when our turn will not come, since a newer runner leads
 */
async function ourTurn(
  options: WaitOptions & Pick<Run, 'home' | 'manager'>,
  me: Place,
  { reasons, ownerId }: Candidacy,
): Promise<Place | 'succeeded'> {
  if (reasons.length === 0) return me
  const { home, stop, manager } = options
  manager.standsBy()
  let hasPassed = false
  for (const name of reasons) {
    const silent = await waitWhile(REASONS[name], { home, me, ownerId }, options)
    if (silent === 'succeeded') return silent
    hasPassed ||= silent.some(({ standby }) => !standby)
  }
  if (stop.drain.aborted) return me
  // We become the newest, to pass before a newer runner that has fallen silent.
  return await goToGate(home, me, hasPassed)
}
