import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type CrawlRow, crawlById } from '../../db/crawls.ts'
import type { Home } from '../../db/home.ts'
import { snapshotsIn } from '../../db/snapshots.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import { writeArchivePage, writeCrawlPage, writeSnapshotPages } from '../index/index-pages.ts'

/** Pages in memory at once; a crawl may have a million. */
const BATCH = 500

/**
 * Whether our node is the one that shows a page, or a crawl: it has the files, or would be the first to have any.
 * @param homes of the page, if that has one, and of its crawl
 */
const isShownHere = ({ dataDirId }: Home, ...homes: readonly (string | null)[]) =>
  (homes.find((node) => node !== null) ?? dataDirId) === dataDirId

/**
 * Rewrites the pages of crawls whose rows were changed from outside, of their sealed snapshots, and of the archive, as
 * far as they are on our node.
 * Writes all it can, then throws the first failure.
 * @param only limits the snapshots to these
 */
export async function reconcilePages(home: Home, crawlIds: readonly string[], only?: readonly string[]): Promise<void> {
  const failures: unknown[] = []
  for (const id of crawlIds) {
    const crawl = await crawlById(home.db, id)
    if (crawl) failures.push(...(await writePagesOf(home, crawl, 'sealed', only)))
  }
  await writeArchivePage(home)
  if (failures.length > 0) throw failures[0]
}

/** Writes the page of a crawl, and those of its snapshots in this state. @returns the failures */
export async function writePagesOf(
  home: Home,
  crawl: CrawlRow,
  status: 'sealed' | 'paused',
  only?: readonly string[],
): Promise<unknown[]> {
  const failures: unknown[] = []
  for (let after: string | undefined, isMore = true; isMore; ) {
    const snapshots = await snapshotsIn(home.db, crawl.id, status, { after, limit: BATCH, only })
    for (const snapshot of snapshots) {
      if (!isShownHere(home, snapshot.home_node, crawl.home_node)) continue
      await writeSnapshotPages(home, snapshot.id, { snapshot, crawl }).catch((error: unknown) => {
        if (isDatabaseAway(error)) throw error
        failures.push(error)
      })
    }
    after = snapshots.at(-1)?.id ?? after
    isMore = snapshots.length === BATCH
  }
  if (isShownHere(home, crawl.home_node) || existsSync(join(home.dataDir, crawl.output_dir)))
    await writeCrawlPage(home, crawl.id, crawl)
  return failures
}
