import type { UrlList } from '../../base/url-list.ts'
import { type CrawlRow, insertCrawl } from '../../db/crawls.ts'
import type { Archive } from '../archive.ts'
import type { Call } from '../call.ts'
import { trustGiven } from '../trust-given.ts'
import type { CrawlLimits } from './new-crawl.ts'
import { type NewUrls, newUrls } from './new-urls.ts'

export interface AddInput {
  readonly list: UrlList
  readonly crawl: CrawlLimits
  /** Add also what is archived already. A crawl that follows links does so in any case: they are on these pages. */
  readonly isAgain?: boolean
  /** List the pages, rows and files, without archiving them until the crawl is resumed. */
  readonly isListOnly?: boolean
  /** The id for the crawl. */
  readonly crawlId?: string
}

/** The part of a list that is added, as a crawl; none when all of it is archived already, and not wanted again. */
export interface Added extends NewUrls {
  readonly crawl: CrawlRow | undefined
}

/**
 * Adds one crawl of the URLs of a list that are new here, for a runner. Without a new one nothing is written. `on`, the
 * row of a process, is written only with a crawl, not with pages that are listed.
 */
export async function add(archive: Archive, input: AddInput, { on }: Pick<Call, 'on'> = {}): Promise<Added> {
  const { home, known } = archive
  const fresh = await toAdd(archive, input)
  const { list } = fresh
  if (!list) return { ...fresh, crawl: undefined }
  const crawl = { ...input.crawl, list }
  trustGiven(known, home.dataDir, crawl.config)
  // What few callers need is loaded on demand: `add` has to be quick.
  if (input.isListOnly)
    return { ...fresh, crawl: await (await import('./list-only.ts')).listOnly(home, crawl, input.crawlId) }
  return { ...fresh, crawl: await insertCrawl(home.db, crawl, input.crawlId, on) }
}

/** What would be added. */
export async function toAdd({ home }: Archive, { list, crawl, isAgain }: AddInput): Promise<NewUrls> {
  return isAgain || crawl.maxDepth > 0 ? { list, archived: 0 } : await newUrls(home.db, list)
}
