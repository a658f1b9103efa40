import { type CrawlRow, crawlById, type NewCrawl } from '../../db/crawls.ts'
import type { Home } from '../../db/home.ts'
import { addPausedPages } from '../../machines/add-pages.ts'
import { writeArchivePage } from '../../workers/index/index-pages.ts'
import { writePagesOf } from '../../workers/repair/reconcile-pages.ts'

/** Creates a crawl and its pages, rows and files, without archiving them until it is resumed. */
export async function listOnly(home: Home, crawl: NewCrawl, id?: string): Promise<CrawlRow> {
  const row = (await crawlById(home.db, await addPausedPages(home.db, crawl, id)))!
  const [failure] = await writePagesOf(home, row, 'paused')
  if (failure !== undefined) throw failure
  await writeArchivePage(home)
  return row
}
