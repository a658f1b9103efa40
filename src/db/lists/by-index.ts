import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { READER_PAUSE } from '../each-row.ts'
import { transact, withRetry } from '../retry.ts'

/** Transactions that are already planned this way, and those that see one moment. */
const planned = new WeakSet<Database>()
const moments = new WeakSet<Database>()

/**
 * Reads a few rows of large tables: in a transaction (the caller's, or a new one) whose statements are planned as walks
 * along indexes. Several queries may share one transaction.
 */
export async function byIndex<T>(db: Database, ask: (tx: Database) => Promise<T>): Promise<T> {
  if (planned.has(db)) return await ask(db)
  return await transact(db, async (tx) => {
    await walking(tx)
    planned.add(tx)
    return await ask(tx)
  })
}

/**
 * The same, for long reads that must be consistent: all of it is read as of one moment, and the reader of its rows may
 * pause. Without bitmaps: they read all rows of a value. Inside another transaction, a part of that.
 */
export async function inOneMoment<T>(db: Database, ask: (tx: Database) => Promise<T>): Promise<T> {
  return moments.has(db) ? await ask(db) : await withRetry(db, () => once(db, ask))
}

/** The same, once: rows that were shown are not shown again. */
export async function once<T>(db: Database, ask: (tx: Database) => Promise<T>): Promise<T> {
  const transaction = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  return await transaction.execute(async (tx) => {
    await walking(tx, [
      ['enable_bitmapscan', 'off'],
      ['idle_in_transaction_session_timeout', READER_PAUSE],
    ])
    planned.add(tx)
    moments.add(tx)
    return await ask(tx)
  })
}

/**
 * Makes the rest of a transaction be planned as walks along indexes. By default the planner reads a whole table as long
 * as it has no statistics, and with its default cost of a spinning disk even after that.
 */
async function walking(tx: Database, more: readonly (readonly [name: string, value: string])[] = []): Promise<void> {
  const settings = [...WALKING, ...more].map(([name, value]) => sql`(${sql.lit(name)}, ${sql.lit(value)})`)
  await sql`select set_config(name, value, true) from (values ${sql.join(settings)}) as s (name, value)`.execute(tx)
}

const WALKING = [
  ['enable_seqscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
  ['random_page_cost', '1.1'],
  ['cursor_tuple_fraction', '1'],
  ['jit', 'off'], // What is off is priced so high that a server would compile each statement.
] as const
