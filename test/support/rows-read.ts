import { sql } from 'kysely'
import type { Database } from '../../src/db/database.ts'
import { POOL_NAME } from './homes.ts'

/**
 * The number of rows of each of these tables that a step reads, according to the server itself.
 * @param db has one connection, so that its counters can be read at once
 */
export async function rowsRead(
  db: Database,
  tables: readonly string[],
  step: () => Promise<unknown>,
): Promise<Record<string, number>> {
  await tellAll(db)
  const before = await counters(db, tables)
  await step()
  const after = await counters(db, tables)
  return Object.fromEntries(tables.map((table) => [table, (after[table] ?? 0) - (before[table] ?? 0)]))
}

/** The tests' own connections report their reads up to ten seconds later, unless they end. */
async function tellAll(db: Database): Promise<void> {
  await sql`
    select pg_terminate_backend(pid, 10000) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and application_name = ${POOL_NAME}`.execute(db)
}

async function counters(db: Database, tables: readonly string[]): Promise<Record<string, number>> {
  await report(db)
  const { rows } = await sql<{ relname: string; read: number }>`
    select relname, seq_tup_read + coalesce(idx_tup_fetch, 0) as read from pg_stat_user_tables
    where relname = any(${tables}::text[])`.execute(db)
  return Object.fromEntries(rows.map(({ relname, read }) => [relname, read]))
}

/**
 * Makes this connection report what it has read. PostgreSQL 14 does so twice a second, and answers with what it knew
 * up to half a second ago.
 */
async function report(db: Database): Promise<void> {
  const { rows } = await sql<{ old: boolean }>`
    select current_setting('server_version_num')::int < 150000 as old`.execute(db)
  if (!rows[0]!.old) await sql`select pg_stat_force_next_flush()`.execute(db)
  else for (let half = 0; half < 2; half += 1) await sql`select pg_sleep(0.6)`.execute(db)
}
