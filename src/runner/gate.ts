import { AppError } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { many } from '../base/words.ts'
import type { Home } from '../db/home.ts'
import { deadClaimants, type Place } from '../db/runners.ts'
import { isCollision, isTaken } from '../db/trouble.ts'
import { DataDirLock } from './data-dir-lock.ts'
import { type EvictOptions, evictOlderRunners } from './evict-older.ts'
import { liveRunnerProcesses } from './ownership.ts'
import { promote, type Term } from './promote.ts'
import { lostLeaderHere, reapOlder } from './reap-older.ts'

/** How long the data dir may stay locked when every known runner is gone. */
const LOCKED_MS = 15_000
const LOCK_LOOK_MS = 50
const RETRY_MS = 20

/** Passage: our term, and the lock on the data dir, which we hold. */
export interface Promoted {
  readonly term: Term
  readonly lock: DataDirLock
  readonly why?: undefined
}

export interface GateOptions extends EvictOptions {
  /** Resolves when what a leader needs is there; rejects with what keeps this runner from leading. */
  readonly prepared: () => Promise<void>
}

/** Why there is no promotion. */
export interface Unpromoted {
  readonly term?: undefined
  readonly why: 'superseded' | 'drained' | 'forced' | 'lost'
}

/** A process that the database does not know holds the data dir. */
export interface Held {
  readonly term?: undefined
  readonly why: 'held'
  readonly error: AppError
}

export type Passed = Promoted | Unpromoted | Held

/**
 * The single-runner gate. The newest runner wins, by the database's order of registrations; it is promoted only when
 * the operating system says that every older one is gone, nobody holds the data dir, and everything that carried the
 * older ones' marks is killed. Throws AppError when an older runner cannot be ended: then there is no promotion.
 */
export async function passGate(options: GateOptions, me: Place): Promise<Passed> {
  const { home, bell, stop, waitsFor } = options
  const lock = new DataDirLock(home)
  let passed: Passed | undefined
  try {
    for (let heldSince: number | undefined; !passed; ) {
      const answer = await attempt(options, me, lock).catch(lookAgain)
      if (answer === 'look again') await bell.wait(RETRY_MS, stop.drain)
      else if (answer !== 'held') passed = answer
      else {
        heldSince ??= performance.now()
        waitsFor(`waiting for the data dir, which is held by ${lock.holder()}`)
        if (performance.now() - heldSince > LOCKED_MS) passed = { why: 'held', error: cannotHave(lock) }
        else await bell.wait(LOCK_LOOK_MS, stop.drain)
      }
    }
    return passed
  } finally {
    if (!passed?.term) lock.release()
  }
}

/** One attempt to pass. `held`: somebody has the data dir; `look again`: something has changed meanwhile. */
async function attempt(options: GateOptions, me: Place, lock: DataDirLock): Promise<Passed | 'held' | 'look again'> {
  const { home, log, stop } = options
  const stopped = () => ({ why: stop.force.aborted ? 'forced' : 'drained' }) as const
  if (stop.drain.aborted) return stopped()
  const others = (await liveRunnerProcesses(home)).filter(({ id }) => id !== me.id)
  await failpoint('gate.looked')
  const newer = others.findLast((row) => row.seq > me.seq)
  if (newer) {
    log.info(`a newer runner (pid ${newer.pid}) is taking over`, { event: 'runner.superseded', by_pid: newer.pid })
    return { why: 'superseded' }
  }
  if (others.length > 0) {
    const onAsked = async () => {
      lock.enqueue()
      await options.onAsked()
      await rehearse(home).catch(() => {}) // A real problem shows again.
    }
    if (!(await evictOlderRunners({ ...options, onAsked }, me, others))) return 'look again'
    await failpoint('gate.older_gone')
  } else await options.onAsked()
  if (!(await lock.take())) return 'held'
  await failpoint('gate.locked')
  const reaped = await reapOlder(home, log, me)
  if (!reaped) return 'look again'
  await failpoint('gate.reaped')
  // Until our promotion the older one leads on if we exit: we must know by now that we can lead.
  await options.prepared()
  if (stop.drain.aborted) return stopped()
  const term = await promote(home, me, reaped, stop.drain)
  if (!term) return stop.drain.aborted ? stopped() : { why: 'lost' }
  await failpoint('gate.promoted')
  const taken = term.requeued > 0 ? `, ${term.requeued} unfinished claims taken over` : ''
  const { number: of, requeued: claims } = term
  log.info(`leading (term ${of}${taken})`, { event: 'leader.began', term: of, claims_taken_over: claims })
  if (term.unknown > 0)
    log.warn(
      `the database is older than this data dir: ${many(term.unknown, 'term')} that were led here are unknown to it; ` +
        'archivebox-ts verify names pages that it has forgotten',
      { event: 'leader.skipped_terms', unknown: term.unknown },
    )
  return { term, lock }
}

/**
 * Runs now the queries that matter when they are gone and nobody leads: the first time on a connection takes ten times
 * as long.
 */
async function rehearse(home: Home): Promise<void> {
  await lostLeaderHere(home)
  await deadClaimants(home, [])
}

/** Some errors are passing: the index had the last word, or a lock in the database did not come in time. */
function lookAgain(error: unknown): 'look again' {
  if (!isCollision(error) && !isTaken(error)) throw error
  return 'look again'
}

function cannotHave(lock: DataDirLock): AppError {
  const message = `the data dir is held by a runner that this database does not show as alive: ${lock.holder()}`
  const hint =
    'it hangs in another container, or uses another database: stop it there, since its lock ends ' +
    'with it and never expires; nothing was taken over'
  return new AppError(message, { hint })
}
