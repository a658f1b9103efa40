import { sql } from 'kysely'
import { crawlById } from '../db/crawls.ts'
import type { Home } from '../db/home.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { LOWEST_ID } from '../engine/claim-statements.ts'
import { writeArchivePage, writeCrawlPage, writeSnapshotPages } from './index-pages.ts'

/** A crawl may have a million: so many are in memory at once. */
const BATCH = 500

/**
 * Writes the pages of crawls whose rows somebody changed from outside, those of their sealed snapshots, and the archive's.
 * @param only of the snapshots only these
 * Throws the first failure, when all the others are written.
 */
export async function rewritePages(home: Home, crawlIds: readonly string[], only?: readonly string[]): Promise<void> {
  const failures: unknown[] = []
  for (const id of crawlIds) {
    const crawl = await crawlById(home.db, id)
    if (!crawl) continue
    const sealed = home.db.selectFrom('snapshot').selectAll().where('crawl_id', '=', id).where('status', '=', 'sealed')
    const wanted = only ? sealed.where(sql<boolean>`id = any(${only}::uuid[])`) : sealed
    for (let last = LOWEST_ID.uuid as string, isMore = true; isMore; ) {
      const snapshots = await wanted.where('id', '>', last).orderBy('id').limit(BATCH).execute()
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
