import { type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'
import { byIndex } from './lists/by-index.ts'

/** A hook that is running on a page. */
export interface HookInWork {
  readonly plugin: string
  readonly hook_name: string
  /** Its process: the warm host's, for one that runs in it. */
  readonly process_id: string | null
  /** Since it began on this page. */
  readonly seconds: number
}

/** A claimed page. */
export interface PageInWork {
  readonly worker_id: string
  readonly snapshot_id: string
  readonly crawl_id: string
  readonly url: string
  /** `queued`: nothing but its claim says that it is in work, which is enough for one that is done at once. */
  readonly status: 'queued' | 'started'
  /** Since the page was begun, or claimed. */
  readonly seconds: number
  /** The hooks running on it, the last started first. */
  readonly hooks: readonly HookInWork[]
}

const CLAIMED = sql`claimed as materialized (select * from snapshot where claimed_by is not null)`

/** A page and the worker that has it. */
export interface HeldPage {
  readonly claimed_by: string
  readonly output_dir: string
}

/**
 * The pages that workers have. Of a new one nothing else may be written yet.
 * @param which condition on `claimed s`
 */
export async function heldPages(db: Database, which: RawBuilder<unknown>): Promise<HeldPage[]> {
  const query = sql<HeldPage>`with ${CLAIMED} select s.claimed_by, s.output_dir from claimed s where ${which}`
  const { rows } = await byIndex(db, (tx) => query.execute(tx))
  return rows
}

/** The claimed pages of one crawl or of all, the first begun first. There are as many as lanes of workers. */
export async function pagesInWork(db: Database, crawlId?: string): Promise<PageInWork[]> {
  const secondsSince = (since: RawBuilder<unknown>) => sql`greatest(0, extract(epoch from now() - ${since}))::float8`
  // One that is not begun was only just claimed, which is its last change.
  const begun = sql`case s.status when 'started' then s.status_changed_at else s.modified_at end`
  const query = sql<PageInWork>`
    with ${CLAIMED}
    select s.claimed_by as worker_id, s.id as snapshot_id, s.crawl_id, s.url, s.status,
           ${secondsSince(begun)} as seconds,
           coalesce((
             select json_agg(json_build_object(
               'plugin', r.plugin, 'hook_name', r.hook_name, 'process_id', r.process_id,
               'seconds', ${secondsSince(sql`r.start_ts`)}
             ) order by r.start_ts desc, r.id desc)
             from archive_result r where r.snapshot_id = s.id and r.status = 'started'), '[]') as hooks
    from claimed s ${crawlId === undefined ? sql`` : sql`where s.crawl_id = ${crawlId}`}
    order by ${begun}, s.id`
  const { rows } = await byIndex(db, (tx) => query.execute(tx))
  return rows
}

/** A claimed crawl. */
export interface ClaimedCrawl {
  readonly id: string
  readonly claimed_by: string
}

/** The claimed crawls. There are as many as workers. */
export async function claimedCrawls(db: Database): Promise<ClaimedCrawl[]> {
  const query = sql<ClaimedCrawl>`select id, claimed_by from crawl where claimed_by is not null`
  const { rows } = await byIndex(db, (tx) => query.execute(tx))
  return rows
}
