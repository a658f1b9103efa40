import { crawlById } from '../db/crawls.ts'
import type { Home } from '../db/home.ts'
import { writeArchivePage, writeCrawlPage, writeSnapshotPages } from './index-pages.ts'

/**
 * Writes the pages of crawls whose rows somebody changed from outside, those of their sealed snapshots, and the archive's.
 * @param only of the snapshots only these
 */
export async function rewritePages(home: Home, crawlIds: readonly string[], only?: readonly string[]): Promise<void> {
  for (const id of crawlIds) {
    const crawl = await crawlById(home.db, id)
    if (!crawl) continue
    const snapshots = await home.db.selectFrom('snapshot').selectAll().where('crawl_id', '=', id).where('status', '=', 'sealed').execute()
    for (const snapshot of only ? snapshots.filter((one) => only.includes(one.id)) : snapshots)
      await writeSnapshotPages(home, snapshot, crawl)
    await writeCrawlPage(home, crawl, crawl.status)
  }
  await writeArchivePage(home)
}
