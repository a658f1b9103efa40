import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'

/** Rows fetched at a time: a whole archive need not fit into memory. */
const BATCH = 500

/**
 * Shows the rows of a query to `visit`, one after the other, as they were when it began. @param visit answers false
 * when it has seen enough
 */
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
