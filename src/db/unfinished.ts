import { sql } from 'kysely'
import type { Database } from './database.ts'

/** What is not at its end yet, and what of it may be worked on. */
export interface Unfinished {
  readonly crawls: number
  readonly pausedCrawls: number
  readonly pausedPages: number
  /** Nobody has it, and it may be claimed now. */
  readonly due: number
  /** For how long the first of that could have been claimed; null: nothing is due. */
  readonly dueForSeconds: number | null
  /** Seconds until the first of what nobody has may be claimed; null: there is nothing of the kind. */
  readonly nextInSeconds: number | null
}

/** Counts the unfinished crawls and pages. Not for a hot path: it looks at all of them. */
export async function unfinished(db: Database): Promise<Unfinished> {
  const { rows } = await sql<Unfinished>`
    with open as (
      select c.status, c.retry_at, c.claimed_by, true as is_crawl from crawl c where c.status in ('queued', 'started', 'paused')
      union all
      select s.status, s.retry_at, s.claimed_by, false from snapshot s join crawl c on c.id = s.crawl_id
      where s.status in ('queued', 'started', 'paused') and c.status in ('queued', 'started', 'paused')
    )
    select count(*) filter (where is_crawl) as crawls,
           count(*) filter (where is_crawl and status = 'paused') as "pausedCrawls",
           count(*) filter (where not is_crawl and status = 'paused') as "pausedPages",
           count(*) filter (where status <> 'paused' and claimed_by is null and retry_at <= now()) as due,
           extract(epoch from now() - min(retry_at) filter (where status <> 'paused' and claimed_by is null and retry_at <= now()))::float8
             as "dueForSeconds",
           extract(epoch from min(retry_at) filter (where status <> 'paused' and claimed_by is null and retry_at < '9000-01-01') - now())::float8
             as "nextInSeconds"
    from open`.execute(db)
  return rows[0]!
}
