import { UrlListBuilder } from '../../base/url-list.ts'
import { archivableUrl } from '../../base/urls.ts'
import type { Home } from '../../db/home.ts'
import type { SourceSnapshot } from '../../importers/archivebox/snapshot.ts'
import { type AdoptedPage, adoptCrawl, adoptPage } from '../../machines/adopt.ts'
import { type Collection, filesOf } from './collection.ts'

/** Adds the crawls of a collection with the lists of what was archived in them. @returns their ids by the originals' */
export async function adoptCrawls(home: Home, collection: Collection): Promise<Map<string, string>> {
  const ids = new Map<string, string>()
  let first: SourceSnapshot | undefined
  let urls = new UrlListBuilder()
  const end = async () => {
    const list = urls.list()
    const key = `crawl ${first?.crawl || `of ${first?.id}`}`
    if (first && list)
      ids.set(first.crawl, await adoptCrawl(home, { key, at: first.bookmarkedAt, label: collection.label, list }))
    urls.close()
    urls = new UrlListBuilder()
  }
  for await (const snapshot of collection.snapshots()) {
    if (first && snapshot.crawl !== first.crawl) {
      await end()
      first = undefined
    }
    if (!URL.canParse(snapshot.url) || !/^https?:/i.test(snapshot.url) || !hasFiles(collection, snapshot)) continue
    first ??= snapshot
    urls.add(archivableUrl(snapshot.url))
  }
  await end()
  return ids
}

/** A damaged snapshot is reported when its turn comes. */
function hasFiles(collection: Collection, snapshot: SourceSnapshot): boolean {
  try {
    return filesOf(collection, snapshot) !== undefined
  } catch {
    return false
  }
}

/** Adds a page to its crawl; another page of the same URL gets a separate crawl. @returns the crawl */
export async function adoptInto(home: Home, { label }: Collection, page: AdoptedPage): Promise<string> {
  if (await adoptPage(home, page)) return page.crawlId
  const urls = new UrlListBuilder()
  urls.add(page.url)
  const crawl = { key: `copy ${page.id}`, at: page.bookmarkedAt, label, list: urls.list()! }
  const crawlId = await adoptCrawl(home, crawl)
  if (!(await adoptPage(home, { ...page, crawlId }))) throw new Error('another crawl has a page with its id')
  return crawlId
}
