import { sql } from 'kysely'
import type { Database } from './database.ts'

/** What is unfinished, and how much of it is due. */
export interface Unfinished {
  /** Some crawl is unfinished. */
  readonly some: boolean
  readonly someCrawlPaused: boolean
  readonly somePagePaused: boolean
  /** How long the first unclaimed row has been due; null: nothing is due. */
  readonly dueForSeconds: number | null
  /** Seconds until the first unclaimed row is due; null: there is none. */
  readonly nextInSeconds: number | null
}

const OPEN = sql`status in ('queued', 'started')`

/**
 * The crawls with open pages, named `busy`: steps from crawl to crawl along an index, not through the pages. The order
 * is that of the index, so that no other index is used.
 */
const BUSY = sql`busy as (
  (select crawl_id from snapshot where in_index_order() and ${OPEN} order by crawl_id, retry_at, id limit 1)
  union all
  select (select s.crawl_id from snapshot s where in_index_order() and ${OPEN} and s.crawl_id > busy.crawl_id
    order by s.crawl_id, s.retry_at, s.id limit 1)
  from busy where busy.crawl_id is not null
)`

/** Finds out whether work is due, postponed or absent. Reads a few rows of each crawl with open pages. */
export async function unfinished(db: Database): Promise<Unfinished> {
  const first = sql`claimed_by is null and retry_at < '9000-01-01' order by retry_at, id limit 1`
  const isOpen = sql`select from crawl c where c.id = s.crawl_id and c.status <> 'sealed'`
  const { rows } = await sql<Unfinished>`
    with recursive ${BUSY}, waiting as (
      select min(retry_at) as first from (
        (select retry_at from crawl where ${OPEN} and ${first})
        union all
        select page.retry_at from busy cross join lateral (
          select retry_at from snapshot s
          where s.crawl_id = busy.crawl_id and ${OPEN} and exists (${isOpen}) and ${first}
        ) page
      ) each_first
    )
    select exists (select from crawl where status in ('queued', 'started', 'paused')) as some,
           exists (select from crawl where status = 'paused') as "someCrawlPaused",
           exists (select from snapshot s where s.status = 'paused' and exists (${isOpen})) as "somePagePaused",
           case when first <= now() then extract(epoch from now() - first)::float8 end as "dueForSeconds",
           extract(epoch from first - now())::float8 as "nextInSeconds"
    from waiting`.execute(db)
  return rows[0]!
}

/** What is due now. */
export interface Due {
  readonly crawls: number
  readonly pages: number
  /** For how long the first page has been due; null: none is. */
  readonly oldestSeconds: number | null
  /** The same of crawls. */
  readonly oldestCrawlSeconds: number | null
  /** Pages that wait for their next attempt. */
  readonly waiting: number
  /** How many of those were begun before. */
  readonly waitingBegun: number
}

/** Counts what is due. Postponed and claimed pages are subtracted: there are few of them. */
export async function dueNow(db: Database): Promise<Due> {
  const { rows } = await sql<Due>`
    with recursive ${BUSY}, looked as (
      select coalesce(sum(later.pages), 0) as later, min(first.retry_at) as first,
             coalesce(sum(later.waiting), 0) as waiting, coalesce(sum(later.begun), 0) as begun
      from busy
      cross join lateral (
        select count(*) as pages, count(*) filter (where s.claimed_by is null) as waiting,
               count(*) filter (where s.claimed_by is null and s.status = 'started') as begun
        from snapshot s where s.crawl_id = busy.crawl_id and ${OPEN} and s.retry_at > now()
      ) later
      left join lateral (
        select s.retry_at from snapshot s where s.crawl_id = busy.crawl_id and ${OPEN} order by s.retry_at, s.id limit 1
      ) first on first.retry_at <= now()
    )
    select (select count(*) from crawl where ${OPEN} and retry_at <= now()) as crawls,
           (select coalesce(sum(rows), 0) from row_count where model = 'snapshot' and ${OPEN}) - later as pages,
           extract(epoch from now() - (select min(retry_at) from crawl where ${OPEN} and retry_at <= now()))::float8
             as "oldestCrawlSeconds",
           extract(epoch from now() - first)::float8 as "oldestSeconds", waiting, begun as "waitingBegun"
    from looked`.execute(db)
  return rows[0]!
}
