import { sql } from 'kysely'
import type { Database } from './database.ts'
import type { Model } from './lists/listings.ts'

/** Whether there is a row with this id. */
export async function isThere(db: Database, table: Model['table'], id: string): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(table)} where id = ${id}`.execute(db)
  return rows.length > 0
}
