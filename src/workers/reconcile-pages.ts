import { crawlById } from '../db/crawls.ts'
import type { Home } from '../db/home.ts'
import { sealedSnapshots } from '../db/snapshots.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { writeArchivePage, writeCrawlPage, writeSnapshotPages } from './index-pages.ts'

/** Pages in memory at once; a crawl may have a million. */
const BATCH = 500

/**
 * Rewrites the pages of crawls whose rows were changed from outside, of their sealed snapshots, and of the archive.
 * Writes all it can, then throws the first failure.
 * @param only limits the snapshots to these
 */
export async function reconcilePages(home: Home, crawlIds: readonly string[], only?: readonly string[]): Promise<void> {
  const failures: unknown[] = []
  for (const id of crawlIds) {
    const crawl = await crawlById(home.db, id)
    if (!crawl) continue
    for (let last: string | undefined, isMore = true; isMore; ) {
      const snapshots = await sealedSnapshots(home.db, id, { after: last, limit: BATCH, only })
      for (const snapshot of snapshots) {
        await writeSnapshotPages(home, snapshot, crawl).catch((error: unknown) => {
          if (isDatabaseAway(error)) throw error
          failures.push(error)
        })
      }
      last = snapshots.at(-1)?.id ?? last
      isMore = snapshots.length === BATCH
    }
    await writeCrawlPage(home, crawl, crawl.status)
  }
  await writeArchivePage(home)
  if (failures.length > 0) throw failures[0]
}
