import { sleep } from '../base/abort.ts'
import { AppError, messageOf } from '../base/errors.ts'
import { isTooLate } from './client.ts'
import type { Database } from './database.ts'
import { isCollision, isDatabaseAway } from './trouble.ts'

/** How often work that another transaction gets in the way of is tried. */
const MAX_TRIES = 5
const LONGEST_PAUSE_MS = 1_000

/** For how long the statements of a database wait when it is away; those of one that is not in here fail at once. */
const patience = new WeakMap<object, AbortSignal>()

/** From now on the statements of `db` wait for a database that is away, until `signal`. */
export function bePatient(db: Database, signal: AbortSignal): void {
  patience.set(db, signal)
}

/** Connects; waits for a server that is away until `waitUntil`. Nothing was sent before, so nothing can happen twice. */
export async function whenItIsBack<T>(connect: () => Promise<T>, waitUntil: AbortSignal | undefined): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await connect()
    } catch (error) {
      if (!waitUntil || !isDatabaseAway(error)) throw error
      await pauseOrGiveUp(tries, waitUntil, error)
    }
  }
}

/**
 * Does work that may be done again, until it was: after a collision, and after its connection broke, when nobody knows whether the statement
 * took effect (`again` is true then, for work that has to look first). Inside a transaction it is done once: the whole transaction is what must
 * be done again. Throws the last error after five tries; a patient database that is away is waited for without counting.
 */
export async function repeatable<T>(db: Database, work: (again: boolean) => Promise<T>): Promise<T> {
  const waitUntil = patience.get(db)
  for (let tries = 1, again = false; ; tries += 1) {
    try {
      return await work(again)
    } catch (error) {
      const away = isDatabaseAway(error)
      if (db.isTransaction || !(away || isCollision(error))) throw error
      // A statement that is too long for its deadline stays too long.
      const wait = waitUntil && away && !isTooLate(error)
      if (tries >= MAX_TRIES && !wait) throw error
      again ||= away
      await pauseOrGiveUp(tries, waitUntil, error)
    }
  }
}

/** A transaction that may be done again, as `repeatable` does it; inside another one, a part of that. */
export async function transact<T>(db: Database, work: (tx: Database, again: boolean) => Promise<T>): Promise<T> {
  if (db.isTransaction) return await work(db, false)
  return await repeatable(db, (again) => db.transaction().execute((tx) => work(tx, again)))
}

async function pauseOrGiveUp(tries: number, waitUntil: AbortSignal | undefined, error: unknown): Promise<void> {
  if (waitUntil?.aborted) throw new AppError(`no longer waiting for the database: ${messageOf(error)}`, { cause: error })
  // With jitter: those whom one outage stopped must not all come back in the same moment.
  await sleep(Math.min(2 ** tries * 25, LONGEST_PAUSE_MS) * (0.5 + Math.random()), waitUntil)
}
