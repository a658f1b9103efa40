import { sql } from 'kysely'
import { UrlList } from '../base/url-list.ts'
import type { Database } from './database.ts'

/** Adds the parts of a crawl's list after the first, which is in its row. */
export async function insertParts(tx: Database, crawlId: string, parts: Iterable<string>): Promise<void> {
  let part = 0
  for (const urls of parts) {
    part += 1
    await sql`
      insert into crawl_source (crawl_id, part, urls) values (${crawlId}, ${part}, ${urls})
      on conflict do nothing`.execute(tx) // Our own, when an answer was lost.
  }
}

/** The whole list of a crawl; undefined when the crawl does not exist. */
export async function listOf(db: Database, crawlId: string): Promise<UrlList | undefined> {
  const { rows: crawls } = await sql<{ urls: string; urls_total: number }>`
    select urls, urls_total from crawl where id = ${crawlId}`.execute(db)
  const [crawl] = crawls
  if (!crawl) return undefined
  const { rows } = await sql<{ urls: string }>`
    select urls from crawl_source where crawl_id = ${crawlId} order by part`.execute(db)
  const others = rows.map(({ urls }) => Buffer.from(urls))
  return new UrlList(crawl.urls_total, crawl.urls, others)
}

/** A part of a crawl's list, one URL per line. */
export interface ListPart {
  readonly part: number
  readonly urls: string
}

/**
 * Locks the row of a crawl for the rest of the transaction.
 * @returns the part of its list to expand next, null when none is left; undefined when the claim no longer holds
 */
export async function lockNextPart(
  tx: Database,
  claim: { readonly id: string; readonly token: string },
): Promise<ListPart | null | undefined> {
  const { rows: crawls } = await sql<{ next_part: number | null; urls: string }>`
    select next_part, urls from crawl
    where id = ${claim.id} and claim_token = ${claim.token} for no key update`.execute(tx)
  const [crawl] = crawls
  if (!crawl) return undefined
  const { next_part: part, urls } = crawl
  if (part === null || part === 0) return part === null ? null : { part, urls }
  const { rows } = await sql<ListPart>`
    select part, urls from crawl_source where crawl_id = ${claim.id} and part = ${part}`.execute(tx)
  return rows[0] ?? { part, urls: '' }
}

/** Records that this part was expanded: the next one follows, unless the crawl has reached its limit. */
export async function passPart(tx: Database, crawlId: string, part: number): Promise<void> {
  await sql`
    update crawl set next_part = case
      when max_urls > 0 and (select sum(pages) from crawl_pages where crawl_id = ${crawlId}) >= max_urls then null
      else (select min(part) from crawl_source where crawl_id = ${crawlId} and part > ${part}) end
    where id = ${crawlId}`.execute(tx)
}
