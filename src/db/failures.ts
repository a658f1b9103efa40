import { type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'
import { byIndex } from './lists/by-index.ts'
import type { Outcome } from './tables.ts'

// Failures by page, each with its one cause; not by hook, since most failures of hooks share a cause.

/** A sealed page that is not `archived`. */
export interface FailedPage {
  readonly snapshot_id: string
  readonly crawl_id: string
  readonly url: string
  readonly outcome: Exclude<Outcome, 'archived'>
  readonly cause: string
  readonly http_status: number | null
  readonly sealed_at: Date
}

/** Pages that failed for the same cause on the same host. */
export interface FailureGroup {
  readonly cause: string
  /** With its port, when the URL has one; '' for a URL without a host. */
  readonly host: string
  readonly pages: number
  /** How many of them have a copy all the same (outcome `partial`). */
  readonly partial: number
  /** The latest of them, at most five. */
  readonly snapshot_ids: string[]
  /** When the latest was sealed. */
  readonly sealed_at: Date
}

/** How many failed pages a grouping reads, the latest ones, so that its cost is bounded. */
export const FAILURES_LOOKED_AT = 1_000

// One crawl is selected by a range that contains only it, in the order of its index: with an equality the planner walks
// through the failures of all crawls.
function latest(crawlId: string | undefined, limit: number): RawBuilder<FailedPage> {
  const isOfCrawl = crawlId === undefined ? sql`` : sql`and crawl_id between ${crawlId} and ${crawlId}`
  return sql<FailedPage>`
    select id as snapshot_id, crawl_id, url, outcome, cause, http_status, status_changed_at as sealed_at from snapshot
    where in_index_order() and outcome in ('partial', 'failed') ${isOfCrawl}
    order by ${crawlId === undefined ? sql`` : sql`crawl_id desc,`} status_changed_at desc limit ${limit}`
}

/** The latest pages that failed, fully or partly; of one crawl or of all. Latest first. */
export async function latestFailures(
  db: Database,
  { crawlId, limit }: { readonly crawlId?: string; readonly limit: number },
): Promise<FailedPage[]> {
  return (await byIndex(db, (tx) => latest(crawlId, limit).execute(tx))).rows
}

/**
 * The last `limit` failed pages by cause and host, largest group first; of one crawl or of all. When the groups add up
 * to `limit` pages, there may be more failures.
 */
export async function failureGroups(
  db: Database,
  { crawlId, limit = FAILURES_LOOKED_AT }: { readonly crawlId?: string; readonly limit?: number } = {},
): Promise<FailureGroup[]> {
  const groups = sql<FailureGroup>`
    select cause, host, count(*) as pages, count(*) filter (where outcome = 'partial') as partial,
      (array_agg(snapshot_id::text order by sealed_at desc))[1:5] as snapshot_ids, max(sealed_at) as sealed_at
    from (
      select failure.*, url_host(url) as host from (${latest(crawlId, limit)}) failure
    ) page
    group by cause, host order by pages desc, sealed_at desc`
  return (await byIndex(db, (tx) => groups.execute(tx))).rows
}
