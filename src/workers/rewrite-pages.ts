import { sql } from 'kysely'
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
    const sealed = home.db.selectFrom('snapshot').selectAll().where('crawl_id', '=', id).where('status', '=', 'sealed')
    const snapshots = await (only ? sealed.where(sql<boolean>`id = any(${only}::uuid[])`) : sealed).execute()
    for (const snapshot of snapshots) await writeSnapshotPages(home, snapshot, crawl)
    await writeCrawlPage(home, crawl, crawl.status)
  }
  await writeArchivePage(home)
}
