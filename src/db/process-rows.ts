import { type SelectQueryBuilder, sql } from 'kysely'
import { eachRow, type Visit } from './each-row.ts'
import type { Home } from './home.ts'
import { byIndex } from './lists/by-index.ts'
import type { ProcessIdentity } from './process-identity.ts'
import { ages, IS_LIVE, type LiveRow, type ProcessRow } from './processes.ts'
import { withRetry } from './retry.ts'
import type { Tables } from './tables.ts'

// Queries for rows of processes, for people and supervisors. Changes to them are in processes.ts.

const rows = (home: Home) =>
  home.db.selectFrom('process').selectAll().select(ages).where('data_dir_id', '=', home.dataDirId)

/** One row of this data dir. */
export async function rowById(home: Home, id: string): Promise<LiveRow | undefined> {
  return await rows(home).where('id', '=', id).executeTakeFirst()
}

/** The same, unless its process has ended. */
export async function liveRowById(home: Home, id: string): Promise<LiveRow | undefined> {
  return await rows(home).where('id', '=', id).where(IS_LIVE).executeTakeFirst()
}

/** Those of these processes that are of this data dir, and have ended. */
export async function endedAmong(
  { db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>,
  ids: readonly string[],
): Promise<Pick<ProcessRow, 'id' | 'pwd'>[]> {
  return await db
    .selectFrom('process')
    .select(['id', 'pwd'])
    .where('id', 'in', ids)
    .where('data_dir_id', '=', dataDirId)
    .where(sql<boolean>`not ${IS_LIVE}`)
    .execute()
}

/** The live row of exactly this process. */
export async function liveRowOf(home: Home, identity: ProcessIdentity): Promise<LiveRow | undefined> {
  return await rows(home)
    .where(IS_LIVE)
    .where('pid', '=', identity.pid)
    .where('start_ticks', '=', identity.startTicks)
    .where('boot_id', '=', identity.bootId)
    .where('pid_namespace', '=', identity.pidNamespace)
    .executeTakeFirst()
}

/** The last row of this data dir whose process had this pid. */
export async function lastRowOfPid(home: Home, pid: number): Promise<LiveRow | undefined> {
  return await rows(home).where('pid', '=', pid).orderBy('seq', 'desc').limit(1).executeTakeFirst()
}

/** The live rows of a data dir whose processes were found to survive being killed (see `noteStuck`). */
export async function stuckRows(
  db: Home['db'],
  dataDirId: string,
): Promise<Pick<ProcessRow, 'id' | 'process_type' | 'pid' | 'blocked_reason'>[]> {
  return await db
    .selectFrom('process')
    .select(['id', 'process_type', 'pid', 'blocked_reason'])
    .where('data_dir_id', '=', dataDirId)
    .where(IS_LIVE)
    .where('process_type', '<>', 'orchestrator')
    .where('blocked_reason', 'is not', null)
    .execute()
}

/** The children of these processes, in the order of their start. */
export async function childRows(home: Home, parentIds: readonly string[]): Promise<ProcessRow[]> {
  return await home.db.selectFrom('process').selectAll().where('parent_id', 'in', parentIds).orderBy('seq').execute()
}

/** Filters for a list of processes; without a status only live ones, unless `all` is set. */
export interface ProcessFilters {
  readonly all?: boolean
  /** Of all data dirs on this database. */
  readonly allNodes?: boolean
  readonly type?: string
  readonly workerType?: string
  readonly status?: string
  /** Only those that were registered before this one. */
  readonly before?: number
}

/** The newest rows of this data dir that match every filter, at most `limit`. */
export async function listProcesses(home: Home, filters: ProcessFilters, limit: number): Promise<ProcessRow[]> {
  return await byIndex(home.db, (db) =>
    matching({ ...home, db }, filters)
      .limit(limit)
      .execute(),
  )
}

/** Passes all of them to `visit`, newest first, until it returns false. */
export async function eachProcess(home: Home, filters: ProcessFilters, visit: Visit<ProcessRow>): Promise<void> {
  await eachRow(home.db, matching(home, filters), visit)
}

/** Filters are written out: there are indexes of the rows of rare types and statuses. */
function matching(home: Home, filters: ProcessFilters): SelectQueryBuilder<Tables, 'process', ProcessRow> {
  let query = home.db.selectFrom('process').selectAll()
  if (!filters.allNodes) query = query.where('data_dir_id', '=', home.dataDirId)
  if (!filters.all && filters.status === undefined) query = query.where(IS_LIVE)
  if (filters.type !== undefined) query = query.where(sql`process_type`, '=', sql.lit(filters.type))
  if (filters.workerType !== undefined)
    query = query.where(sql`worker_type`, '=', filters.workerType).where('process_type', '<>', sql.lit('hook'))
  if (filters.before !== undefined) query = query.where('seq', '<', filters.before)
  if (filters.status !== undefined) query = query.where(sql`status`, '=', sql.lit(filters.status))
  return query.orderBy('seq', 'desc')
}

/** Whether this process belongs to another data dir of the same database. False for one without a row. */
export async function worksElsewhere({ db, dataDirId }: Home, id: string): Promise<boolean> {
  const select = sql`select 1 from process where id = ${id} and data_dir_id <> ${dataDirId}`
  const { rows } = await withRetry(db, () => select.execute(db))
  return rows.length > 0
}

/** The processes of this data dir that supervise a live hook of the crawl as a whole, or the host that runs one. */
export async function supervisorsOfHooks({ db, dataDirId }: Home, crawlId: string): Promise<string[]> {
  const select = sql<{ id: string }>`
    select distinct parent_id as id from process
    where ${IS_LIVE} and data_dir_id = ${dataDirId} and process_type = 'hook' and parent_id is not null
      and crawl_id = ${crawlId} and snapshot_id is null`
  return (await withRetry(db, () => select.execute(db))).rows.map(({ id }) => id)
}
