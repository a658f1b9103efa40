import { type RawBuilder, sql } from 'kysely'
import { type PageCounts, pagesOf } from './counts.ts'
import type { Database } from './database.ts'
import { byIndex } from './lists/by-index.ts'
import type { WorkStatus } from './tables.ts'

/** The progress of a crawl. */
export interface CrawlProgress {
  readonly id: string
  readonly status: WorkStatus
  readonly label: string
  readonly first_url: string
  readonly counts: PageCounts
  /** Its pages, and the URLs of its list that are still to become pages. */
  readonly total: number
  readonly done: number
  /** More pages are still being found, so the total is not final. */
  readonly grows: boolean
  /** Pages sealed per second recently; null when they are too few to tell. */
  readonly pages_per_second: number | null
  /**
   * Seconds to the end at this pace; null when that would be a guess: pages are still being found, or few were sealed.
   */
  readonly seconds_left: number | null
}

/** The pace is taken from pages sealed within this time. */
const PACE_SECONDS = 60
/** The most pages that the pace is taken from. */
const MOST_PACED = 1_000
/** With fewer pages, the end cannot be estimated. */
const LEAST_PACED = 5
const LEAST_PACED_SECONDS = 3
/** Nor when the pace has stopped: nothing was sealed for this long, and for the time of this many pages. */
const QUIET_SECONDS = 5
const QUIET_PAGES = 5

interface Read extends Omit<CrawlProgress, 'total' | 'pages_per_second' | 'seconds_left'> {
  readonly unlisted: number
  readonly paced: number
  readonly paced_seconds: number | null
  readonly quiet_seconds: number | null
}

/**
 * The progress of these crawls, from kept counts and a walk along the last pages of each.
 * @param which a crawl's id; without one, started crawls and then queued ones, oldest first
 */
export async function crawlProgress(
  db: Database,
  which: { readonly crawlId: string } | { readonly most: number },
): Promise<CrawlProgress[]> {
  const chosen = 'crawlId' in which ? sql`select * from crawl where id = ${which.crawlId}` : firstOpenCrawls(which.most)
  const paceBegin = sql`now() - make_interval(secs => ${PACE_SECONDS})`
  const query = sql<Read>`
    select c.id, c.status, c.label, split_part(c.urls, chr(10), 1) as first_url,
           pages.counts, pages.sealed as done, pace.*,
           case when c.next_part is null then 0
                else greatest(0, least(c.urls_total, nullif(c.max_urls, 0)) - pages.pages) end as unlisted,
           c.max_depth > 0 and (c.max_urls = 0 or pages.pages < c.max_urls)
             and coalesce(newest.created_at > ${paceBegin}, true) as grows
    from (${chosen}) c
    cross join lateral (${pagesOf(sql`c.id`)}) pages
    cross join lateral (
      select count(*) as paced, extract(epoch from now() - min(status_changed_at))::float8 as paced_seconds,
             extract(epoch from now() - max(status_changed_at))::float8 as quiet_seconds
      from (
        select status_changed_at from snapshot s
        where s.crawl_id = c.id and s.status = 'sealed' and s.status_changed_at > ${paceBegin}
        order by s.status_changed_at desc limit ${sql.lit(MOST_PACED)}
      ) last
    ) pace
    left join lateral (
      select s.created_at from snapshot s where s.crawl_id = c.id order by s.crawl_id desc, s.id desc limit 1
    ) newest on true`
  const { rows } = await byIndex(db, (tx) => query.execute(tx))
  return rows.map(progressOf)
}

function firstOpenCrawls(most: number): RawBuilder<unknown> {
  const first = sql`order by id limit ${sql.lit(most)}`
  const of = (status: WorkStatus, place: number) => sql`
    (select *, ${sql.lit(place)} as place from crawl where status = ${sql.lit(status)} ${first})`
  return sql`
    select * from (${of('started', 0)} union all ${of('queued', 1)}) open order by place, id limit ${sql.lit(most)}`
}

function progressOf({ unlisted, paced, paced_seconds, quiet_seconds, ...crawl }: Read): CrawlProgress {
  const { queued, started, paused } = crawl.counts
  const left = queued + started + unlisted
  // Between the first and the last of n ends there are n - 1 pages; and time passes while nothing ends.
  const pace = paced > 1 && paced_seconds !== null && paced_seconds > 0 ? (paced - 1) / paced_seconds : null
  const isSteady = pace !== null && quiet_seconds! < Math.max(QUIET_SECONDS, QUIET_PAGES / pace)
  const isSure = isSteady && !crawl.grows && paced >= LEAST_PACED && paced_seconds! >= LEAST_PACED_SECONDS
  // The estimate has passed: the last pages may be the slow ones.
  const isOver = pace !== null && left / pace < quiet_seconds!
  return {
    ...crawl,
    total: crawl.done + left + paused,
    pages_per_second: pace,
    seconds_left: isSure && !isOver && left > 0 ? left / pace : null,
  }
}

/** The folder of a crawl's only page, relative to the data dir. */
export async function onlyPageOf(db: Database, crawlId: string): Promise<string | undefined> {
  const { rows } = await sql<{ output_dir: string }>`
    select output_dir from snapshot where crawl_id = ${crawlId} order by crawl_id, id limit 1`.execute(db)
  return rows[0]?.output_dir
}

/** How many pages are read to tell what a crawl lacked and made, which is nearly the same for each page. */
const TOLD_BY_PAGES = 20

const lastPages = (crawlId: string) => sql`
  select id from snapshot where crawl_id = ${crawlId}
  order by crawl_id desc, id desc limit ${sql.lit(TOLD_BY_PAGES)}`

/** Why hooks of a crawl were skipped for lack of a program, from its last pages. */
export async function skippedFor(db: Database, crawlId: string): Promise<string[]> {
  const query = sql<{ reason: string }>`
    select distinct r.output_str as reason
    from (${lastPages(crawlId)}) s
    cross join lateral (
      -- Said so that no index on the status is walked.
      select output_str from archive_result
      where snapshot_id = s.id and status is not distinct from 'skipped' and output_str like '%not found%'
    ) r
    order by 1`
  const { rows } = await byIndex(db, (tx) => query.execute(tx))
  return rows.map(({ reason }) => reason)
}

/** The plugins that left files of a crawl's last pages, in the order in which they ran. */
export async function madeBy(db: Database, crawlId: string): Promise<string[]> {
  const query = sql<{ plugin: string }>`
    select r.plugin
    from (${lastPages(crawlId)}) s
    cross join lateral (
      select plugin, hook_name from archive_result
      where snapshot_id = s.id and status is not distinct from 'succeeded' and output_size > 0
    ) r
    group by r.plugin order by min(r.hook_name)`
  const { rows } = await byIndex(db, (tx) => query.execute(tx))
  return rows.map(({ plugin }) => plugin)
}
