import { sleep } from '../base/abort.ts'
import { type Backoff, backoff } from '../base/backoff.ts'
import { AppError, messageOf } from '../base/errors.ts'
import { isTooLate } from './client.ts'
import type { Database } from './tables.ts'
import { isCollision, isDatabaseAway } from './trouble.ts'

/** How often work is tried that collides with other transactions. */
const MAX_TRIES = 5
/** With jitter, so that processes stopped by one outage do not all come back in the same moment. */
const PAUSE: Backoff = { baseMs: 50, maxMs: 1_000, jitter: 0.5 }

/** How the statements of a process wait while the database is away. */
export interface RetryPolicy {
  /** They stop waiting when it aborts. */
  readonly until: AbortSignal
  /** Called with the error before each pause, which begins when it is done. */
  readonly onWait?: (error: unknown) => void | Promise<void>
}

/** Statements of a database without a policy fail at once. */
const policies = new WeakMap<object, RetryPolicy>()

/** From now on the statements of `db` wait for a database that is away, and so do its new connections. */
export function setRetryPolicy(db: Database, how: RetryPolicy): void {
  policies.set(db, how)
}

/** From now on they fail at once again, for whoever waits in a way of its own. */
export function endRetryPolicy(db: Database): void {
  policies.delete(db)
}

/**
 * Connects, and waits for a server that is away as the policy of `db` says. Nothing was sent before, so nothing can
 * happen twice.
 */
export async function connectWithRetry<T>(db: Database, connect: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await connect()
    } catch (error) {
      const wait = policies.get(db)
      if (!wait || !isDatabaseAway(error)) throw error
      await pauseOrGiveUp(tries, wait, error)
    }
  }
}

/**
 * Repeats work after a collision, and after a lost connection, when it is unknown whether the statement took effect
 * (`again` is then true, for work that must check first). Inside a transaction it runs once: the whole transaction must
 * be repeated. Throws the last error after five tries; with a retry policy, waiting for a database that is away does
 * not count.
 */
export async function withRetry<T>(db: Database, work: (again: boolean) => Promise<T>): Promise<T> {
  const wait = policies.get(db)
  for (let tries = 1, again = false; ; tries += 1) {
    try {
      return await work(again)
    } catch (error) {
      const away = isDatabaseAway(error)
      if (db.isTransaction || !(away || isCollision(error))) throw error
      // A statement that exceeded its time would do so again.
      const waits = wait && away && !isTooLate(error)
      if (tries >= MAX_TRIES && !waits) throw error
      again ||= away
      await pauseOrGiveUp(tries, wait, error)
    }
  }
}

/** A transaction that is repeated by `withRetry`; inside another one, a part of that. */
export async function transact<T>(db: Database, work: (tx: Database, again: boolean) => Promise<T>): Promise<T> {
  if (db.isTransaction) return await work(db, false)
  return await withRetry(db, (again) => db.transaction().execute((tx) => work(tx, again)))
}

async function pauseOrGiveUp(tries: number, wait: RetryPolicy | undefined, error: unknown): Promise<void> {
  if (wait?.until.aborted)
    throw new AppError(`no longer waiting for the database: ${messageOf(error)}`, { cause: error })
  await wait?.onWait?.(error)
  await sleep(backoff(tries, PAUSE), wait?.until)
}
