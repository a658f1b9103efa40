import { rowCounts } from '../../db/counts.ts'
import { type CrawlProgress, crawlProgress } from '../../db/crawl-progress.ts'
import type { Database } from '../../db/database.ts'
import type { Home } from '../../db/home.ts'
import { byIndex } from '../../db/lists/by-index.ts'
import { type PageInWork, pagesInWork } from '../../db/pages-in-work.ts'

/** What is worked on at one moment. */
export interface Work {
  readonly crawls: readonly CrawlProgress[]
  /** Open crawls beyond these. */
  readonly otherCrawls: number
  readonly pages: readonly PageInWork[]
}

/** What is worked on now: in one crawl, or in the open ones, of which at most `most` are listed. */
export async function workOf({ db }: Home, crawlId: string | undefined, most: number): Promise<Work> {
  return await byIndex(db, async (tx) => {
    const crawls = await crawlProgress(tx, crawlId === undefined ? { most } : { crawlId })
    const pages = await pagesInWork(tx, crawlId)
    return { crawls, pages, otherCrawls: crawlId === undefined ? await otherCrawls(tx, crawls.length, most) : 0 }
  })
}

async function otherCrawls(db: Database, shown: number, most: number): Promise<number> {
  if (shown < most) return 0
  const counts = await rowCounts(db, 'crawl')
  const open = (counts.get('queued')?.rows ?? 0) + (counts.get('started')?.rows ?? 0)
  return Math.max(0, open - shown)
}
