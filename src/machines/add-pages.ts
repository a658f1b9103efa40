import { sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import { type ListedUrl, type UrlList, urlsOfPart } from '../base/url-list.ts'
import { insertCrawl, type NewCrawl } from '../db/crawls.ts'
import type { Database } from '../db/database.ts'
import { transact } from '../db/retry.ts'
import { insertSnapshots, type NewPage, tagSnapshots } from '../db/snapshots.ts'
import { pauseCrawls, wakeCrawls } from './commands.ts'

/**
 * Queues a crawl and creates its pages at once.
 * @returns the ids of its snapshots
 */
export async function addCrawlWithPages(db: Database, crawl: NewCrawl): Promise<string[]> {
  const id = uuidv7()
  return await transact(db, async (tx) => {
    await insertExpanded(tx, crawl, id)
    return await addTo(tx, id, pagesOf(crawl.list))
  })
}

/**
 * Creates a crawl and its pages, paused: nothing is archived until they are resumed.
 * @returns the crawl's id
 */
export async function addPausedPages(db: Database, crawl: NewCrawl, id = uuidv7()): Promise<string> {
  return await transact(db, async (tx) => {
    await insertExpanded(tx, crawl, id)
    for (const part of crawl.list.parts()) await insertSnapshots(tx, id, pagesOf(urlsOfPart(part)), OF_LIST)
    await pauseCrawls(tx, [id])
    return id
  })
}

/**
 * Adds pages to a crawl that is not sealed.
 * @returns the ids of its snapshots for these URLs, existing ones included; none when the crawl takes no pages now
 */
export async function addPages(
  db: Database,
  crawlId: string,
  list: UrlList,
  tags: readonly string[],
): Promise<string[]> {
  return await transact(db, async (tx) => {
    const ids = await addTo(tx, crawlId, pagesOf(list))
    if (tags.length > 0) await tagSnapshots(tx, ids, tags)
    await wakeCrawls(tx, [crawlId])
    return ids
  })
}

/** The caller adds its pages: the list has no part left to expand. */
async function insertExpanded(tx: Database, crawl: NewCrawl, id: string): Promise<void> {
  await insertCrawl(tx, crawl, id)
  await sql`update crawl set next_part = null where id = ${id}`.execute(tx)
}

const OF_LIST = { depth: 0, parentId: null }
const pagesOf = (urls: Iterable<ListedUrl>): NewPage[] => [...urls].map(({ url, details }) => ({ ...details, url }))

async function addTo(tx: Database, crawlId: string, pages: readonly NewPage[]): Promise<string[]> {
  await insertSnapshots(tx, crawlId, pages, OF_LIST)
  const { rows } = await sql<{ id: string }>`
    select id from snapshot
    where crawl_id = ${crawlId} and url_hash in (select sha256(convert_to(url, 'UTF8'))
      from unnest(${pages.map(({ url }) => url)}::text[]) as asked (url))
    order by id`.execute(tx)
  return rows.map(({ id }) => id)
}
