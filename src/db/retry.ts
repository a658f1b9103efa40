import { sleep } from '../base/abort.ts'
import { type Backoff, backoff } from '../base/backoff.ts'
import { AppError, messageOf } from '../base/errors.ts'
import { isTooLate } from './client.ts'
import type { Patience } from './patience.ts'
import type { Database } from './tables.ts'
import { isCollision, isDatabaseAway } from './trouble.ts'

/** How often work that collides with other transactions is tried. */
const MAX_TRIES = 5
/** With jitter, so that processes stopped by one outage do not all come back in the same moment. */
const PAUSE: Backoff = { baseMs: 50, maxMs: 1_000, jitter: 0.5 }

/**
 * Connects, and waits for a server that is away as long as the patience of `db` allows. Nothing was sent before, so
 * nothing can happen twice.
 */
export async function connectWithRetry<T>(db: Database, connect: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await connect()
    } catch (error) {
      if (!db.patience || !isDatabaseAway(error)) throw error
      await pauseOrGiveUp(tries, db.patience, error)
    }
  }
}

/**
 * Repeats work after a collision, and after a lost connection, when it is unknown whether the statement took effect
 * (`again` is then true, for work that must check first). Inside a transaction it runs once: the whole transaction must
 * be repeated. Throws the last error after five tries; with patience, waiting for a database that is away does not
 * count.
 */
export async function withRetry<T>(db: Database, work: (again: boolean) => Promise<T>): Promise<T> {
  const { patience } = db
  for (let tries = 1, again = false; ; tries += 1) {
    try {
      return await work(again)
    } catch (error) {
      const away = isDatabaseAway(error)
      if (db.isTransaction || !(away || isCollision(error))) throw error
      // A statement that exceeded its time would do so again.
      const waits = patience && away && !isTooLate(error)
      if (tries >= MAX_TRIES && !waits) throw error
      again ||= away
      await pauseOrGiveUp(tries, patience, error)
    }
  }
}

/** A transaction that is repeated by `withRetry`; inside another one, a part of that. */
export async function transact<T>(db: Database, work: (tx: Database, again: boolean) => Promise<T>): Promise<T> {
  if (db.isTransaction) return await work(db, false)
  return await withRetry(db, (again) => db.transaction().execute((tx) => work(tx, again)))
}

async function pauseOrGiveUp(tries: number, patience: Patience | undefined, error: unknown): Promise<void> {
  if (patience?.until.aborted)
    throw new AppError(`no longer waiting for the database: ${messageOf(error)}`, { cause: error })
  await patience?.onWait?.(error)
  await sleep(backoff(tries, PAUSE), patience?.until)
}
