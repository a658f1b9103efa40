import { createHash } from 'node:crypto'
import { messageOf } from '../../base/errors.ts'
import type { UrlList } from '../../base/url-list.ts'
import { crawlById, insertCrawl } from '../../db/crawls.ts'
import { crawlRecord } from '../../db/records.ts'
import { adoptedId } from '../../machines/adopt.ts'
import { adoptCollection } from '../../workers/adopt/adopt-collection.ts'
import { type Adoption, type Collection, filesOf } from '../../workers/adopt/collection.ts'
import type { CrawlLimits } from '../add/new-crawl.ts'
import type { Archive } from '../archive.ts'
import type { Call } from '../call.ts'
import { trustGiven } from '../trust-given.ts'

/** The progress. */
export interface AdoptProgress {
  readonly event: 'adopting'
  readonly read: number
  readonly taken: number
}

export interface Adopted extends Pick<Adoption, 'read' | 'taken' | 'before' | 'linked' | 'copied' | 'bytes'> {
  readonly refused: readonly string[]
  /** Links and special files among the files, which are not imported. */
  readonly left: readonly string[]
  /** What was not archived there, and the crawl that it is queued in. */
  readonly queued: { readonly urls: number; readonly crawlId: string } | undefined
  /** All crawls that were created. */
  readonly records: readonly object[]
}

/**
 * Imports a collection of ArchiveBox with its files; what was not archived there is queued. A repeated import
 * continues.
 * @param crawl the options of the crawl for what is queued
 */
export async function adopt(
  { home, known }: Archive,
  { collection, crawl }: { readonly collection: Collection; readonly crawl: CrawlLimits },
  { tell }: Pick<Call<AdoptProgress>, 'tell'>,
): Promise<Adopted> {
  const adoption = await adoptCollection(home, collection, ({ read, taken }) =>
    tell?.({ event: 'adopting', read, taken }),
  )
  try {
    const list = adoption.open.list()
    if (list) trustGiven(known, home.dataDir, crawl.config)
    const row = list && (await insertCrawl(home.db, { ...crawl, list }, idOfList(list)))
    const ids = [...adoption.crawls, ...(row ? [row.id] : [])]
    const records: object[] = []
    for (const id of ids) records.push(crawlRecord((await crawlById(home.db, id))!))
    const { read, taken, before, linked, copied, bytes, refused, left } = adoption
    const queued = list && row && { urls: list.total, crawlId: row.id }
    return { read, taken, before, linked, copied, bytes, refused, left, queued, records }
  } finally {
    adoption.open.close()
  }
}

/** The same list gets the same crawl, so that a repeated import does not queue it twice. */
function idOfList(list: UrlList): string {
  const hash = createHash('sha256')
  for (const { urls } of list.parts()) hash.update(`${urls}\n`)
  const [first] = list
  return adoptedId(`list ${hash.digest('hex')}`, new Date(first?.details?.at ?? 0))
}

/** What a snapshot of a collection would become. */
export interface Adoptable {
  readonly record: { readonly type: 'Snapshot'; readonly url: string; readonly from: string | undefined }
  /** Why its files would not be imported. */
  readonly refused?: string
}

/** What would be imported; nothing is changed. */
export async function* toAdopt(collection: Collection): AsyncGenerator<Adoptable, void, void> {
  for await (const snapshot of collection.snapshots()) {
    const { url, title, depth, tags, notes, bookmarkedAt } = snapshot
    const about = { type: 'Snapshot', url, title, depth, tags, notes, bookmarked_at: bookmarkedAt } as const
    let from: string | undefined
    let refused: string | undefined
    try {
      from = filesOf(collection, snapshot)?.path
    } catch (error) {
      refused = `${url}: ${messageOf(error)}`
    }
    yield { record: { ...about, from }, ...(refused !== undefined && { refused }) }
  }
}
