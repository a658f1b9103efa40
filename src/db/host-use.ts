import { type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'
import { withRetry } from './retry.ts'

/** A page of a crawl. */
export interface PageOfCrawl {
  readonly id: string
  readonly crawlId: string
  readonly url: string
}

/**
 * The pages of the same host in the same crawl. Ids begin with the time: none is older than the crawl's. Page by page:
 * a join may be planned as one of all pages of the crawl with all of the host.
 */
function alike({ crawlId, url }: PageOfCrawl, condition: RawBuilder<unknown>): RawBuilder<unknown> {
  const oldest = `${crawlId.slice(0, 'xxxxxxxx-xxxx'.length)}-0000-0000-000000000000`
  return sql`
    page_url p cross join lateral (
      select crawl_id, status, output_size from snapshot where id = p.snapshot_id limit 1
    ) s
    where url_host(p.url) = url_host(lower(${url})) and p.snapshot_id >= ${oldest} and s.crawl_id = ${crawlId}
      and ${condition}`
}

/** How many pages of its host were added to its crawl before this one; counted up to `most`. */
export async function pagesBefore(db: Database, page: PageOfCrawl, most: number): Promise<number> {
  const select = sql<{ pages: number }>`
    select count(*) as pages from (select from ${alike(page, sql`p.snapshot_id < ${page.id}`)} limit ${most}) found`
  return (await withRetry(db, () => select.execute(db))).rows[0]!.pages
}

/** The bytes that are kept of its host in its crawl. */
export async function bytesOfHost(db: Database, page: PageOfCrawl): Promise<number> {
  const select = sql<{ bytes: number }>`
    select coalesce(sum(s.output_size), 0)::bigint as bytes from ${alike(page, sql`s.status = 'sealed'`)}`
  return (await withRetry(db, () => select.execute(db))).rows[0]!.bytes
}
