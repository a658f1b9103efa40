import { sleep } from '../base/abort.ts'
import { type Backoff, backoff } from '../base/backoff.ts'
import { AppError, messageOf } from '../base/errors.ts'
import { isTooLate } from './client.ts'
import type { Database } from './database.ts'
import { isCollision, isDatabaseAway } from './trouble.ts'

/** How often work that another transaction gets in the way of is tried. */
const MAX_TRIES = 5
/** With jitter: those whom one outage stopped must not all come back in the same moment. */
const PAUSE: Backoff = { baseMs: 50, maxMs: 1_000, jitter: 0.5 }

/** How the statements of a process wait for a database that is away. */
export interface RetryPolicy {
  /** They give up then. */
  readonly until: AbortSignal
  /** Called before each pause with what went wrong. */
  readonly onWait?: (error: unknown) => void
}

/** Statements of a database that is not listed here fail at once. */
const patience = new WeakMap<object, RetryPolicy>()

/** From now on the statements of `db` wait for a database that is away. */
export function setRetryPolicy(db: Database, how: RetryPolicy): void {
  patience.set(db, how)
}

/** Connects; waits for a server that is away as `wait` says. Nothing was sent before, so nothing can happen twice. */
export async function connectWithRetry<T>(connect: () => Promise<T>, wait: RetryPolicy | undefined): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await connect()
    } catch (error) {
      if (!wait || !isDatabaseAway(error)) throw error
      await pauseOrGiveUp(tries, wait, error)
    }
  }
}

/**
 * Does work that may be done again, until it was: after a collision, and after its connection broke, when nobody knows
 * whether the statement took effect (`again` is true then, for work that has to look first). Inside a transaction it is
 * done once: the whole transaction is what must be done again. Throws the last error after five tries; a patient
 * database that is away is waited for without counting.
 */
export async function withRetry<T>(db: Database, work: (again: boolean) => Promise<T>): Promise<T> {
  const wait = patience.get(db)
  for (let tries = 1, again = false; ; tries += 1) {
    try {
      return await work(again)
    } catch (error) {
      const away = isDatabaseAway(error)
      if (db.isTransaction || !(away || isCollision(error))) throw error
      // A statement that took too long once will take too long again.
      const waits = wait && away && !isTooLate(error)
      if (tries >= MAX_TRIES && !waits) throw error
      again ||= away
      await pauseOrGiveUp(tries, wait, error)
    }
  }
}

/** A transaction that may be done again, as `repeatable` does it; inside another one, a part of that. */
export async function transact<T>(db: Database, work: (tx: Database, again: boolean) => Promise<T>): Promise<T> {
  if (db.isTransaction) return await work(db, false)
  return await withRetry(db, (again) => db.transaction().execute((tx) => work(tx, again)))
}

async function pauseOrGiveUp(tries: number, wait: RetryPolicy | undefined, error: unknown): Promise<void> {
  if (wait?.until.aborted)
    throw new AppError(`no longer waiting for the database: ${messageOf(error)}`, { cause: error })
  wait?.onWait?.(error)
  await sleep(backoff(tries, PAUSE), wait?.until)
}
