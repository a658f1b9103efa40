import { sql } from 'kysely'
import type { Database } from './database.ts'

/** What is unfinished, and which part of it may be worked on. */
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
 * The crawls that have pages to work on, called `busy`: steps from crawl to crawl along an index, not through the
 * pages. The order is that of the index, so that no other one is walked.
 */
const BUSY = sql`busy as (
  (select crawl_id from snapshot where ${OPEN} order by crawl_id, retry_at, id limit 1)
  union all
  select (select s.crawl_id from snapshot s where ${OPEN} and s.crawl_id > busy.crawl_id
    order by s.crawl_id, s.retry_at, s.id limit 1)
  from busy where busy.crawl_id is not null
)`

/** What keeps nothing from moving, or everything. Looks at a few rows of each crawl that has pages to work on. */
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
  /** For how long the first page has been; null: none is. */
  readonly oldestSeconds: number | null
}

/**
 * Counts what is due. Of pages those that are put off, or in somebody's hands, are subtracted: there are few of them.
 */
export async function dueNow(db: Database): Promise<Due> {
  const { rows } = await sql<Due>`
    with recursive ${BUSY}, looked as (
      select coalesce(sum(later.pages), 0) as later, min(first.retry_at) as first
      from busy
      cross join lateral (
        select count(*) as pages from snapshot s where s.crawl_id = busy.crawl_id and ${OPEN} and s.retry_at > now()
      ) later
      left join lateral (
        select s.retry_at from snapshot s where s.crawl_id = busy.crawl_id and ${OPEN} order by s.retry_at, s.id limit 1
      ) first on first.retry_at <= now()
    )
    select (select count(*) from crawl where ${OPEN} and retry_at <= now()) as crawls,
           (select coalesce(sum(rows), 0) from row_count where model = 'snapshot' and ${OPEN}) - later as pages,
           extract(epoch from now() - first)::float8 as "oldestSeconds"
    from looked`.execute(db)
  return rows[0]!
}
