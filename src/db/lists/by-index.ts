import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { transact } from '../retry.ts'

/** Transactions that are already planned this way. */
const planned = new WeakSet<Database>()

/**
 * Reads a few rows of large tables: in a transaction (the caller's, or one of its own) whose statements are planned as
 * walks along indexes. Several queries may share one transaction.
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
 * Has what follows in a transaction planned as walks along indexes. By default the planner reads a whole table as long
 * as it has no statistics, and with its default cost of a spinning disk even after that.
 */
export async function walking(tx: Database): Promise<void> {
  await sql`
    select set_config(name, value, true)
    from (values ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'),
      ('random_page_cost', '1.1'), ('cursor_tuple_fraction', '1')) as s (name, value)`.execute(tx)
}
