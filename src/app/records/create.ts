import { isDeepStrictEqual } from 'node:util'
import { AppError, UsageError } from '../../base/errors.ts'
import { isUuid } from '../../base/ids.ts'
import type { UrlList } from '../../base/url-list.ts'
import { listOf } from '../../db/crawl-sources.ts'
import { insertCrawl, type NewCrawl } from '../../db/crawls.ts'
import { CRAWLS, type ListedCrawl, type ListedSnapshot, listedByIds, SNAPSHOTS } from '../../db/lists/listings.ts'
import { addCrawlWithPages, addPages } from '../../machines/add-pages.ts'
import { checkedUrls, type LeftOut } from '../add/intake.ts'
import type { CrawlLimits } from '../add/new-crawl.ts'
import type { Archive } from '../archive.ts'
import type { Call } from '../call.ts'
import { trustGiven, trustSettings } from '../trust-given.ts'
import { cutRecord, isCut } from './cut.ts'
import { checkTag } from './names.ts'

/** Queues these crawls. @returns their ids */
export async function createCrawls({ home, known }: Archive, crawls: readonly NewCrawl[]): Promise<string[]> {
  const ids: string[] = []
  for (const crawl of crawls) {
    trustGiven(known, home.dataDir, crawl.config)
    ids.push((await insertCrawl(home.db, crawl)).id)
  }
  return ids
}

/**
 * A crawl like that of a record, with these limits for what the record lacks. A record that shows only the first URLs
 * of a long list stands for all of it, which is read once the archive is open. Throws UsageError.
 */
export function crawlLike(
  record: Readonly<Record<string, unknown>>,
  limits: CrawlLimits,
  call: Call<LeftOut>,
): (archive: Pick<Archive, 'home'>) => Promise<NewCrawl> {
  const {
    urls,
    max_depth: depth = limits.maxDepth,
    max_urls: maxUrls = limits.maxUrls,
    tags = limits.tags,
    label = limits.label,
  } = record
  const areTexts = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((item) => typeof item === 'string')
  const isWhole = (value: unknown, max: number): value is number =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max
  if (
    !areTexts(urls) ||
    !areTexts(tags) ||
    typeof label !== 'string' ||
    !isWhole(depth, 4) ||
    !isWhole(maxUrls, 10_000_000)
  )
    throw new UsageError(`not a valid crawl: ${JSON.stringify(record).slice(0, 200)}`)
  for (const tag of tags) checkTag(tag)
  const like = { ...limits, maxDepth: depth, maxUrls, tags, label }
  if (!isCut(record)) {
    const list = checkedUrls(urls, call)
    return async () => ({ ...like, list })
  }
  return async ({ home }) => {
    const { id } = record
    const list = typeof id === 'string' && isUuid(id) ? await listOf(home.db, id) : undefined
    if (!list) throw cutRecord(record)
    return { ...like, list }
  }
}

export interface NewPages {
  readonly list: UrlList
  readonly tags: readonly string[]
  /** An existing crawl, or the limits of a new one. */
  readonly crawl: ListedCrawl | CrawlLimits
  /** Settings that a person has given for these pages. */
  readonly given: Readonly<Record<string, string>>
}

export interface PagesMade {
  readonly pages: readonly ListedSnapshot[]
  /** URLs beyond the limit of their crawl. */
  readonly beyond: number
  /** Pages that existed already, with other settings, which stay. */
  readonly kept: number
}

/** Queues pages without their links. */
export async function createPages(
  { home, known }: Archive,
  { list, tags, crawl, given }: NewPages,
): Promise<PagesMade> {
  const { db, dataDir } = home
  trustSettings(known, dataDir, Object.entries(given))
  if (!('id' in crawl)) trustGiven(known, dataDir, crawl.config)
  const ids =
    'id' in crawl ? await addPages(db, crawl.id, list, tags) : await addCrawlWithPages(db, { ...crawl, list, tags })
  const pages = await listedByIds(db, SNAPSHOTS, ids)
  const asked = new Map([...list].flatMap(({ url, details }) => (details?.settings ? [[url, details.settings]] : [])))
  const kept = pages.filter(({ url, settings }) => asked.has(url) && !isDeepStrictEqual(settings, asked.get(url)))
  return { pages, beyond: list.total - ids.length, kept: kept.length }
}

/** A crawl that takes pages. Throws AppError for one that does not exist, or is sealed or paused. */
export async function openCrawl({ home }: Pick<Archive, 'home'>, id: string): Promise<ListedCrawl> {
  const [crawl] = await listedByIds(home.db, CRAWLS, [id])
  if (!crawl) throw new UsageError(`there is no crawl ${id}`, 'archivebox-ts crawl list shows them')
  if (crawl.status === 'sealed' || crawl.status === 'paused')
    throw new AppError(`crawl ${crawl.id} takes no more pages: it is ${crawl.status}`, {
      hint: 'without --crawl-id they go into a new crawl',
    })
  return crawl
}
