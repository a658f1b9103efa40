import { crawlById } from '../db/crawls.ts'
import type { Home } from '../db/home.ts'
import { sealedSnapshots } from '../db/snapshots.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { writeArchivePage, writeCrawlPage, writeSnapshotPages } from './index-pages.ts'

/** A crawl may have a million: so many are in memory at once. */
const BATCH = 500

/**
 * Writes the pages of crawls whose rows somebody changed from outside, those of their sealed snapshots, and the
 * archive's.
 * @param only of the snapshots only these
 * Throws the first failure, when all the others are written.
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
