import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'
import { mayPause } from './may-pause.ts'

/** Rows fetched at a time: the whole archive need not fit into memory. */
const BATCH = 500

/** How long a reader may pause: `list | less`. A longer pause would block the server's housekeeping. */
export const READER_PAUSE = '1h'

/** What to do with rows, as many as arrive at a time; false: no more of them. */
export type Visit<Row> = (rows: readonly Row[]) => boolean | Promise<boolean>

/** Passes the rows of a query to `visit`, as of its start. */
export async function eachRow<Row>(
  db: Database,
  query: RawBuilder<Row> | Expression<Row>,
  visit: Visit<Row>,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await mayPause(tx, READER_PAUSE)
    await inBatches(tx, query, visit)
  })
}

/** The same in a transaction that stays open. */
export async function inBatches<Row>(
  tx: Database,
  query: RawBuilder<Row> | Expression<Row>,
  visit: Visit<Row>,
): Promise<void> {
  await sql`declare each_row no scroll cursor for ${query}`.execute(tx)
  for (;;) {
    const { rows } = await sql<Row>`fetch ${sql.lit(BATCH)} from each_row`.execute(tx)
    if (rows.length > 0 && !(await visit(rows))) return
    if (rows.length < BATCH) break
  }
  await sql`close each_row`.execute(tx)
}
