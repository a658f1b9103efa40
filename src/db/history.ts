import { type RawBuilder, sql } from 'kysely'
import { holdsNoClaim } from './claimed-tables.ts'
import type { Database } from './database.ts'

// Rows of ended processes and the log of transitions are history: no decision depends on them. All leaders of a
// database trim it.

/** Uses the indexes, whatever the planner assumes about tables without statistics, and compiles nothing for that. */
const ALONG_INDEXES = sql`
  select set_config(name, 'off', true)
  from unnest('{enable_seqscan,enable_hashjoin,enable_mergejoin,jit}'::text[]) as name`

/** The condition that nothing refers to an ended process. */
const IS_FORGOTTEN = sql`
  not exists (select from process child where child.parent_id = p.id)
  and not exists (select from runner_term where process_id = p.id)
  and ${holdsNoClaim(sql`p.id`)}
  and not exists (select from archive_result where process_id = p.id and status in ('queued', 'started', 'backoff'))
  and (p.worker_type <> 'worker_runner' or p.status <> 'lost' or p.term < (
    select max(later.term) from process later
    where later.data_dir_id = p.data_dir_id and later.boot_id = p.boot_id and later.pid_namespace = p.pid_namespace
      and later.worker_type = 'worker_runner'))`

/**
 * Deletes rows of processes that ended more than `days` ago, oldest first, children before parents. Keeps what is still
 * needed: ancestors of kept rows, the last leader, a runner whose end is unknown if it was the last to lead, and every
 * owner of a claim or of a result that is not final.
 * @returns how many, at most `limit`; fewer: none remain
 */
export async function deleteEndedProcesses(db: Database, days: number, limit: number): Promise<number> {
  return await trim(
    db,
    'process',
    sql`
    select p.id from process p where p.ended_at < now() - make_interval(days => ${days}) and ${IS_FORGOTTEN}
    order by p.ended_at limit ${limit} for update skip locked`,
  )
}

/** Deletes lines of the log of transitions older than `days`, oldest first. @returns how many, at most `limit` */
export async function deleteOldTransitions(db: Database, days: number, limit: number): Promise<number> {
  return await trim(
    db,
    'transition',
    sql`
    select id from transition where at < now() - make_interval(days => ${days})
    order by at limit ${limit} for update skip locked`,
  )
}

async function trim(db: Database, table: 'process' | 'transition', old: RawBuilder<unknown>): Promise<number> {
  return await db.transaction().execute(async (tx) => {
    await ALONG_INDEXES.execute(tx)
    const { numAffectedRows } = await sql`
      with old as materialized (${old})
      delete from ${sql.table(table)} where id = any(array(select id from old))`.execute(tx)
    return Number(numAffectedRows ?? 0)
  })
}
