import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'

/** Rows fetched at a time: the whole archive need not fit into memory. */
const BATCH = 500

/** Passes the rows of a query to `visit`, one by one, as of its start. @param visit returns false to stop */
export async function eachRow<Row>(
  db: Database,
  query: RawBuilder<Row> | Expression<Row>,
  visit: (row: Row) => boolean,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`declare each_row no scroll cursor for ${query}`.execute(tx)
    for (;;) {
      const { rows } = await sql<Row>`fetch ${sql.lit(BATCH)} from each_row`.execute(tx)
      for (const row of rows) if (!visit(row)) return
      if (rows.length < BATCH) return
    }
  })
}
