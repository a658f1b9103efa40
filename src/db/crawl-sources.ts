import { sql } from 'kysely'
import { type ListPart, UrlList } from '../base/url-list.ts'
import type { Database } from './database.ts'
import type { LockedCrawl } from './tables.ts'

/** Adds what does not fit into the row of a crawl: the parts of its list after the first, and the details of all. */
export async function insertParts(tx: Database, crawlId: string, list: UrlList): Promise<void> {
  let part = 0
  await insertDetails(tx, crawlId, part, list.first)
  for (const each of list.others()) {
    part += 1
    await sql`
      insert into crawl_source (crawl_id, part, urls) values (${crawlId}, ${part}, ${each.urls})
      on conflict do nothing`.execute(tx) // Our own, when an answer was lost.
    await insertDetails(tx, crawlId, part, each)
  }
}

async function insertDetails(tx: Database, crawlId: string, part: number, { details }: ListPart): Promise<void> {
  if (details === '') return
  await sql`
    insert into crawl_detail (crawl_id, part, details) values (${crawlId}, ${part}, ${details})
    on conflict do nothing`.execute(tx)
}

/** The whole list of a crawl; undefined when the crawl does not exist. */
export async function listOf(db: Database, crawlId: string): Promise<UrlList | undefined> {
  const { rows: crawls } = await sql<ListPart & { urls_total: number }>`
    select c.urls, c.urls_total, coalesce(d.details, '') as details
    from crawl c left join crawl_detail d on d.crawl_id = c.id and d.part = 0 where c.id = ${crawlId}`.execute(db)
  const [crawl] = crawls
  if (!crawl) return undefined
  const { rows } = await sql<ListPart>`
    select s.urls, coalesce(d.details, '') as details
    from crawl_source s left join crawl_detail d on d.crawl_id = s.crawl_id and d.part = s.part
    where s.crawl_id = ${crawlId} order by s.part`.execute(db)
  // As bytes outside the heap: with hundreds of megabytes of text inside, the collector would let as much garbage pile
  // up.
  const others = rows.map((row) => {
    const [urls, details] = [Buffer.from(row.urls), Buffer.from(row.details)]
    return () => ({ urls: urls.toString(), details: details.toString() })
  })
  return new UrlList(crawl.urls_total, crawl, others)
}

/** A part of a list, in its place. */
export interface PlacedPart extends ListPart {
  readonly part: number
  /** None follows. */
  readonly isLast: boolean
}

/**
 * Locks the row of a crawl for the rest of the transaction.
 * @returns it, and the part of its list to expand next, null when none is left; undefined: the claim no longer holds
 */
export async function lockNextPart(
  tx: Database,
  claim: { readonly id: string; readonly token: string },
): Promise<{ readonly crawl: LockedCrawl; readonly next: PlacedPart | null } | undefined> {
  const { rows } = await sql<LockedCrawl & LockedPart>`
    select id, max_urls, max_size, tags, next_part as part,
      case next_part when 0 then urls
        else (select urls from crawl_source where crawl_id = crawl.id and part = next_part) end as urls,
      (select details from crawl_detail where crawl_id = crawl.id and part = next_part) as details,
      (select min(part) from crawl_source where crawl_id = crawl.id and part > next_part) is null as "isLast"
    from crawl where id = ${claim.id} and claim_token = ${claim.token} for no key update`.execute(tx)
  const [row] = rows
  if (!row) return undefined
  const { part, urls, details, isLast, ...crawl } = row
  return { crawl, next: part === null ? null : { part, urls: urls ?? '', details: details ?? '', isLast } }
}

interface LockedPart {
  readonly part: number | null
  readonly urls: string | null
  readonly details: string | null
  readonly isLast: boolean
}

/** Records that this part was expanded: the next one follows, unless the crawl has reached its limit. */
export async function passPart(tx: Database, crawlId: string, part: number): Promise<void> {
  await sql`
    update crawl set next_part = case
      when max_urls > 0 and (select sum(pages) from crawl_pages where crawl_id = ${crawlId}) >= max_urls then null
      when max_size > 0 and (select sum(bytes) from crawl_pages where crawl_id = ${crawlId}) >= max_size then null
      else (select min(part) from crawl_source where crawl_id = ${crawlId} and part > ${part}) end
    where id = ${crawlId}`.execute(tx)
}
