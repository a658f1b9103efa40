import { type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'
import { byIndex } from './lists/by-index.ts'
import { IS_LIVE } from './processes.ts'

/** A row, with everything that matters here as one text. */
export interface RowState {
  readonly id: string
  readonly state: string
}

/** Rows that somebody watches, by id. */
export interface Watched {
  readonly pages: readonly string[]
  readonly crawls: readonly string[]
}

/** The state of the archive at one moment, as far as it changes while work goes on. */
export interface Moment {
  /** Identifies the run of the server, and the database. */
  readonly server: string
  /** Transactions before this one are over: their changes were seen. */
  readonly horizon: string
  /** Pages that were sealed, or changed later, since the previous horizon; recent ones are repeated. */
  readonly sealed: readonly { readonly id: string | null; readonly crawl_id: string; readonly change: string }[]
  /** Pages in work, each with everything about the work on it. */
  readonly working: readonly (RowState & { readonly crawl_id: string })[]
  /** Crawls that are not sealed, the latest first. */
  readonly crawls: readonly RowState[]
  /** The watched rows: pages that are not sealed, and crawls with their counts. */
  readonly watched: { readonly pages: readonly RowState[]; readonly crawls: readonly RowState[] }
  /** Everything about the processes of the data dir, except for their heartbeats. */
  readonly processes: string
}

/** How many changes of pages one look returns. */
export const MOST_CHANGES = 500
const MOST_CRAWLS = 200

/**
 * Reads the current state of the archive, in one statement.
 * @param since the previous horizon
 */
export async function momentOf(db: Database, dataDirId: string, since: string, watched: Watched): Promise<Moment> {
  const openCrawls = (status: string) => sql`
    (select id, status, message from crawl where status between ${status} and ${status}
     order by status desc, id desc limit ${sql.lit(MOST_CRAWLS)})`
  const select = sql<Moment>`
    select concat_ws(' ', pg_postmaster_start_time(), ${DATABASE_OID}) as server,
      pg_snapshot_xmin(pg_current_snapshot())::text as horizon,
      coalesce((
        select json_agg(json_build_object('id', snapshot_id, 'crawl_id', crawl_id, 'change', number || ' ' || changed))
        from (select * from archived_page where changed >= ${since}::xid8 order by changed, number
              limit ${MOST_CHANGES}) a), '[]') as sealed,
      coalesce((
        select json_agg(json_build_object('id', s.id, 'crawl_id', s.crawl_id, 'state', concat_ws(' ', s.claimed_by,
          (select string_agg(r.id::text, ' ' order by r.id) from archive_result r
           where r.snapshot_id = s.id and r.status = 'started'))))
        from snapshot s where s.claimed_by is not null), '[]') as working,
      coalesce((
        select json_agg(json_build_object('id', id, 'state', concat_ws(' ', status, message)))
        from (${openCrawls('queued')} union all ${openCrawls('started')} union all ${openCrawls('paused')}) c),
        '[]') as crawls,
      json_build_object('pages', ${watchedPages(watched.pages)}, 'crawls', ${watchedCrawls(watched.crawls)})
        as watched,
      (select md5(coalesce(string_agg(concat_ws(' ', id, status, worker_type, standby, term, blocked_reason, url), ','
         order by id), '')) from process
       where ${IS_LIVE} and data_dir_id = ${dataDirId} and process_type <> 'cli') as processes`
  const { rows } = await byIndex(db, (tx) => select.execute(tx))
  return rows[0]!
}

/** While a page is worked on, its `retry_at` is its lease, and moves. Sealed ones are covered by the index. */
function watchedPages(ids: readonly string[]): RawBuilder<unknown> {
  if (ids.length === 0) return sql`'[]'::json`
  return sql`coalesce((
    select json_agg(json_build_object('id', s.id, 'state',
      concat_ws(' ', s.status, s.attempts, case when s.claimed_by is null then s.retry_at end)))
    from snapshot s where s.id = any(${ids}::uuid[]) and s.status is distinct from 'sealed'), '[]')`
}

function watchedCrawls(ids: readonly string[]): RawBuilder<unknown> {
  if (ids.length === 0) return sql`'[]'::json`
  return sql`coalesce((
    select json_agg(json_build_object('id', c.id, 'state', concat_ws(' ', c.status, c.message, c.next_part, (
      select string_agg(concat_ws(' ', p.status, p.outcome, p.pages), ',' order by p.status, p.outcome)
      from (select status, outcome, sum(pages) as pages from crawl_pages where crawl_id = c.id
            group by status, outcome having sum(pages) > 0) p))))
    from crawl c where c.id = any(${ids}::uuid[])), '[]')`
}

const DATABASE_OID = sql`(select oid from pg_database where datname = current_database())`

/** Identifies the database within its server. */
export async function databaseOid(db: Database): Promise<string> {
  const { rows } = await sql<{ oid: string }>`select ${DATABASE_OID}::text as oid`.execute(db)
  return rows[0]!.oid
}
