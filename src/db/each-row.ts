import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'

/** Rows fetched at a time: the whole archive need not fit into memory. */
const BATCH = 500

/** How long whoever reads may pause: `list | less`. Longer holds up the server's housekeeping. */
const READER_PAUSE = '1h'

/** What is done with each row; false: no more of them. */
export type Visit<Row> = (row: Row) => boolean | Promise<boolean>

/**
 * Passes the rows of a query to `visit`, one by one, as of its start.
 * @param prepare has the query planned in a way of its own
 */
export async function eachRow<Row>(
  db: Database,
  query: RawBuilder<Row> | Expression<Row>,
  visit: Visit<Row>,
  prepare?: (tx: Database) => Promise<void>,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`select set_config('idle_in_transaction_session_timeout', ${READER_PAUSE}, true)`.execute(tx)
    await prepare?.(tx)
    await sql`declare each_row no scroll cursor for ${query}`.execute(tx)
    for (;;) {
      const { rows } = await sql<Row>`fetch ${sql.lit(BATCH)} from each_row`.execute(tx)
      for (const row of rows) {
        const goesOn = visit(row)
        if (!(goesOn === true || (await goesOn))) return
      }
      if (rows.length < BATCH) return
    }
  })
}
