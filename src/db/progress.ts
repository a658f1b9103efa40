import { type RawBuilder, sql } from 'kysely'
import { byIndex } from './by-index.ts'
import { type PageCounts, pagesOf } from './counts.ts'
import type { Database } from './database.ts'
import type { WorkStatus } from './tables.ts'

/** How far a crawl is. */
export interface CrawlProgress {
  readonly id: string
  readonly status: WorkStatus
  readonly label: string
  readonly first_url: string
  readonly counts: PageCounts
  /** Pages that it has, and URLs of its list that are still to become some. */
  readonly total: number
  readonly done: number
  /** Pages are still being found: its total is none. */
  readonly grows: boolean
  /** Pages that were sealed a second of late; null: too few to tell. */
  readonly pages_per_second: number | null
  /** Seconds to its end at this pace; null where that would be a guess: pages are still being found, or too few were sealed. */
  readonly seconds_left: number | null
}

/** Pages that were sealed in so many seconds tell the pace. */
const PACE_SECONDS = 60
/** So many are enough to tell it. */
const MOST_PACED = 1_000
/** Of fewer, nobody can tell when all will be done. */
const LEAST_PACED = 5
const LEAST_PACED_SECONDS = 3
/** Nor when the pace has broken off: nothing has ended for so long, and for the time of so many pages. */
const QUIET_SECONDS = 5
const QUIET_PAGES = 5

interface Read {
  readonly id: string
  readonly status: WorkStatus
  readonly label: string
  readonly first_url: string
  readonly counts: PageCounts
  readonly done: number
  readonly unlisted: number
  readonly grows: boolean
  readonly paced: number
  readonly paced_seconds: number | null
  readonly quiet_seconds: number | null
}

/**
 * How far these crawls are, by kept counts and a walk along the last pages of each.
 * @param which a crawl's id; without one, those that are begun and then those that are queued, the oldest first
 */
export async function crawlProgress(
  db: Database,
  which: { readonly crawlId: string } | { readonly most: number },
): Promise<CrawlProgress[]> {
  const chosen = 'crawlId' in which ? sql`select * from crawl where id = ${which.crawlId}` : openCrawls(which.most)
  const query = sql<Read>`
    select c.id, c.status, c.label, split_part(c.urls, E'\n', 1) as first_url, pages.counts, pages.sealed as done, pace.*,
           case when c.next_part is null then 0
                else greatest(0, least(c.urls_total, coalesce(nullif(c.max_urls, 0), c.urls_total)) - c.page_count) end as unlisted,
           c.max_depth > 0 and (c.max_urls = 0 or c.page_count < c.max_urls)
             and coalesce(newest.created_at > now() - make_interval(secs => ${PACE_SECONDS}), true) as grows
    from (${chosen}) c
    cross join lateral (${pagesOf(sql`c.id`)}) pages
    cross join lateral (
      select count(*) as paced, extract(epoch from now() - min(status_changed_at))::float8 as paced_seconds,
             extract(epoch from now() - max(status_changed_at))::float8 as quiet_seconds
      from (
        select status_changed_at from snapshot s
        where s.crawl_id = c.id and s.status = 'sealed' and s.status_changed_at > now() - make_interval(secs => ${PACE_SECONDS})
        order by s.status_changed_at desc limit ${sql.lit(MOST_PACED)}
      ) last
    ) pace
    left join lateral (select s.created_at from snapshot s where s.crawl_id = c.id order by s.crawl_id desc, s.id desc limit 1) newest on true`
  const { rows } = await byIndex(db, (tx) => query.execute(tx))
  return rows.map(progressOf)
}

function openCrawls(most: number): RawBuilder<unknown> {
  const of = (status: WorkStatus) => sql`
    (select *, ${sql.lit(status === 'started' ? 0 : 1)} as place from crawl where status = ${sql.lit(status)} order by id limit ${sql.lit(most)})`
  return sql`select * from (${of('started')} union all ${of('queued')}) open order by place, id limit ${sql.lit(most)}`
}

function progressOf({ unlisted, paced, paced_seconds, quiet_seconds, ...crawl }: Read): CrawlProgress {
  const { queued, started, paused } = crawl.counts
  const left = queued + started + unlisted
  // Of n ends there are n - 1 pages between the first and the last; and time goes on when nothing ends any more.
  const pace = paced > 1 && paced_seconds !== null && paced_seconds > 0 ? (paced - 1) / paced_seconds : null
  const isSteady = pace !== null && quiet_seconds! < Math.max(QUIET_SECONDS, QUIET_PAGES / pace)
  const isSure = isSteady && !crawl.grows && paced >= LEAST_PACED && paced_seconds! >= LEAST_PACED_SECONDS
  return {
    ...crawl,
    total: crawl.done + left + paused,
    pages_per_second: pace,
    seconds_left: isSure && left > 0 ? left / pace : null,
  }
}

/** A hook that runs on a page. */
export interface HookInWork {
  readonly plugin: string
  readonly hook_name: string
  /** Its process: the warm host's, for one that runs in it. */
  readonly process_id: string | null
  /** Since it began on this page. */
  readonly seconds: number
}

/** A page that somebody has claimed. */
export interface PageInWork {
  readonly worker_id: string
  readonly snapshot_id: string
  readonly crawl_id: string
  readonly url: string
  /** Since the page was begun. */
  readonly seconds: number
  /** What runs on it, the last started first. */
  readonly hooks: readonly HookInWork[]
}

/** The pages that are claimed, of one crawl or all, the first begun first. There are as many as workers. */
export async function pagesInWork(db: Database, crawlId?: string): Promise<PageInWork[]> {
  const secondsSince = (since: RawBuilder<unknown>) => sql`greatest(0, extract(epoch from now() - ${since}))::float8`
  const query = sql<PageInWork>`
    with claimed as materialized (select * from snapshot where claimed_by is not null)
    select s.claimed_by as worker_id, s.id as snapshot_id, s.crawl_id, s.url, ${secondsSince(sql`s.status_changed_at`)} as seconds,
           coalesce((
             select json_agg(json_build_object(
               'plugin', r.plugin, 'hook_name', r.hook_name, 'process_id', r.process_id, 'seconds', ${secondsSince(sql`r.start_ts`)}
             ) order by r.start_ts desc, r.id desc)
             from archive_result r where r.snapshot_id = s.id and r.status = 'started'), '[]') as hooks
    from claimed s ${crawlId === undefined ? sql`` : sql`where s.crawl_id = ${crawlId}`}
    order by s.status_changed_at, s.id`
  const { rows } = await byIndex(db, (tx) => query.execute(tx))
  return rows
}

/** A crawl that somebody has claimed. */
export interface ClaimedCrawl {
  readonly id: string
  readonly claimed_by: string
}

/** The crawls that are claimed. There are as many as workers. */
export async function claimedCrawls(db: Database): Promise<ClaimedCrawl[]> {
  const query = sql<ClaimedCrawl>`select id, claimed_by from crawl where claimed_by is not null`
  return (await query.execute(db)).rows
}

/** A page that came to its end. */
export interface SealedPage {
  readonly id: string
  readonly url: string
  readonly title: string | null
  readonly outcome: 'archived' | 'partial' | 'failed' | null
  readonly cause: string | null
}

/** Seconds that a page may be sealed and not yet seen: a long transaction commits with an early time. */
const LATE_SECONDS = 30
/** One look shows no more: the next goes on. */
const MOST_SEALED = 500

/**
 * The pages of a crawl in the order in which they come to their end: each look answers with those since the last one.
 * It remembers those of the last half a minute alone, however many pages the crawl has.
 */
export class SealedPages {
  readonly #crawlId: string
  /** By the database's clock; the first look is at what was sealed just before. */
  #from: Date | undefined
  #seen = new Map<string, Date>()

  constructor(crawlId: string) {
    this.#crawlId = crawlId
  }

  async look(db: Database): Promise<SealedPage[]> {
    const { rows } = await sql<SealedPage & { at: Date; now: Date }>`
      select s.id, s.url, s.title, s.outcome, s.cause, s.status_changed_at as at, now() as now
      from snapshot s
      where s.crawl_id = ${this.#crawlId} and s.status = 'sealed'
        and s.status_changed_at > coalesce(${this.#from ?? null}::timestamptz, now()) - make_interval(secs => ${LATE_SECONDS})
        and s.id <> all(${[...this.#seen.keys()]}::uuid[])
      order by s.status_changed_at limit ${sql.lit(MOST_SEALED)}`.execute(db)
    for (const { id, at } of rows) this.#seen.set(id, at)
    // With more to come, from the last of these on; else from now.
    const last = rows.at(-1)
    if (last) this.#from = rows.length === MOST_SEALED ? last.at : last.now
    const oldest = (this.#from?.getTime() ?? 0) - LATE_SECONDS * 1_000
    for (const [id, at] of this.#seen) if (at.getTime() <= oldest) this.#seen.delete(id)
    return rows
  }
}

/** Where the one page of a crawl lies, relative to the data dir. */
export async function onlyPageOf(db: Database, crawlId: string): Promise<string | undefined> {
  const { rows } = await sql<{ output_dir: string }>`
    select output_dir from snapshot where crawl_id = ${crawlId} order by crawl_id, id limit 1`.execute(db)
  return rows[0]?.output_dir
}

/** Pages that tell which programs a crawl lacked: it lacked them for each. */
const SKIPPED_PAGES = 20

/** Why hooks of a crawl were skipped that lack a program, by its last pages. */
export async function skippedFor(db: Database, crawlId: string): Promise<string[]> {
  const query = sql<{ reason: string }>`
    select distinct r.output_str as reason
    from (select id from snapshot where crawl_id = ${crawlId} order by crawl_id desc, id desc limit ${sql.lit(SKIPPED_PAGES)}) s
    cross join lateral (
      -- Said so that no index on the status is walked.
      select output_str from archive_result
      where snapshot_id = s.id and status is not distinct from 'skipped' and output_str like '%not found%'
    ) r
    order by 1`
  const { rows } = await byIndex(db, (tx) => query.execute(tx))
  return rows.map(({ reason }) => reason)
}
