import { messageOf } from '../base/errors.ts'
import { demote, type Place } from '../db/runners.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { isTransient } from '../processes/spawned.ts'
import { type Candidacy, waitForTurn } from './candidacy.ts'
import { type Passed, type Promoted, passGate } from './gate.ts'
import type { Run } from './options.ts'
import { type Prepared, prepare } from './prepare.ts'
import { beatWhileWaiting } from './waiting-heartbeat.ts'

/** A term, with what its leader needs; or why there is none. */
export type Stood =
  | (Promoted & { readonly prepared: Promise<Prepared> })
  | (Exclude<Passed, Promoted | { why: 'held' }> & {
      /** The newer runner, to which we have handed over, leads. */
      readonly isSucceeded?: boolean
    })

/**
 * Waits for our turn, and passes the gate. A runner that waits for others stands by again while somebody unknown holds
 * the data dir. Throws AppError when an older runner cannot be ended, or the data dir stays held from one that takes
 * over.
 */
export async function standBy(run: Run, me: Place, candidacy: Candidacy): Promise<Stood> {
  const { home, log, outage, signals } = run
  const heart = beatWhileWaiting(run)
  let prepared: Promise<Prepared> | undefined
  const onAsked = async () => {
    prepared ??= prepare(run)
  }
  const away = (error: unknown) => {
    if (isDatabaseAway(error)) outage.seen(error)
    else if (isTransient(error)) log.warn(`looking for who leads: ${messageOf(error)}; trying again`)
    else throw error
  }
  const options = {
    ...run,
    stop: heart.stop,
    waitsFor: heart.waitsFor,
    away,
    onAsked,
    prepared: async () => {
      prepared ??= prepare(run)
      await prepared
    },
  }
  try {
    if (candidacy.standby) await onAsked()
    for (let said = false; ; said = true) {
      const place = await waitForTurn(options, me, candidacy)
      if (!place) return { why: 'superseded', isSucceeded: true }
      if (candidacy.waitsFor === 'newer') signals.expectNone()
      const passed = await passGate(options, place)
      if (passed.term) return { ...passed, prepared: prepared ?? prepare(run) }
      if (heart.lost.aborted && !signals.stop.drain.aborted) return { why: 'lost' }
      if (passed.why !== 'held') return passed
      if (candidacy.waitsFor !== 'others') throw passed.error
      if (!said) log.warn(`${passed.error.message}: standing by`)
      heart.waitsFor(passed.error.message)
      if (!(await demote(home, me.id))) return { why: 'lost' }
    }
  } finally {
    heart.end()
  }
}
