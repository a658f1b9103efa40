import { sql } from 'kysely'
import type { Database } from './database.ts'
import { transact, withRetry } from './retry.ts'
import { limitLockWaits } from './terms.ts'

/** A page of a crawl. */
export interface PageOfCrawl {
  readonly id: string
  readonly crawlId: string
  readonly url: string
}

/**
 * How many pages of its host were added to its crawl before this one; counted up to `most`. Ids begin with the time:
 * none is older than the crawl's. Page by page: the planner might join all pages of the crawl with all of the host.
 */
export async function pagesBefore(db: Database, { id, crawlId, url }: PageOfCrawl, most: number): Promise<number> {
  const oldest = `${crawlId.slice(0, 'xxxxxxxx-xxxx'.length)}-0000-0000-000000000000`
  const select = sql<{ pages: number }>`
    select count(*) as pages from (
      select from page_url p cross join lateral (select crawl_id from snapshot where id = p.snapshot_id limit 1) s
      where url_host(p.url) = url_host(lower(${url})) and p.snapshot_id >= ${oldest} and s.crawl_id = ${crawlId}
        and p.snapshot_id < ${id}
      limit ${most}
    ) found`
  return (await withRetry(db, () => select.execute(db))).rows[0]!.pages
}

/** The stored bytes of its host in its crawl. */
export async function bytesOfHost(db: Database, page: PageOfCrawl): Promise<number> {
  const kept = await keptBytes(db, page)
  if (kept !== null) return kept
  await keepBytes(db, page.crawlId)
  return (await keptBytes(db, page)) ?? 0 // None: the crawl was deleted meanwhile.
}

/** The same; null: they are not counted yet. */
async function keptBytes(db: Database, { crawlId, url }: PageOfCrawl): Promise<number | null> {
  const select = sql<{ bytes: number | null }>`
    select case when exists (select from crawl_by_host where crawl_id = ${crawlId}) then coalesce((
      select sum(bytes) from host_bytes where crawl_id = ${crawlId} and host = url_host(lower(${url}))
    ), 0)::bigint end as bytes`
  return (await withRetry(db, () => select.execute(db))).rows[0]!.bytes
}

/**
 * From now on the bytes of each host are counted for this crawl. Nobody writes pages while the existing ones are
 * counted: a writer that has begun before does not count any.
 */
async function keepBytes(db: Database, crawlId: string): Promise<void> {
  await transact(db, async (tx) => {
    await limitLockWaits(tx)
    const { numAffectedRows } = await sql`
      insert into crawl_by_host select id from crawl where id = ${crawlId} on conflict do nothing`.execute(tx)
    if (numAffectedRows === 0n) return
    await sql`lock table snapshot in share mode`.execute(tx)
    await sql`
      insert into host_total
      select crawl_id, url_host(lower(url)), sum(output_size) from snapshot
      where in_index_order() and crawl_id = ${crawlId} and status = 'sealed' group by 1, 2`.execute(tx)
  })
}
