import { statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type CancelledPage, cancelledPages, lookAgainLater } from '../db/cancelled-pages.ts'
import type { Home } from '../db/home.ts'
import { isThere } from '../db/is-there.ts'
import { transact } from '../db/retry.ts'
import { snapshotById } from '../db/snapshots.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { WorkTree } from '../hooks/work-tree.ts'
import { lockCrawlsOf } from '../machines/commands.ts'
import { reconcilePages } from './reconcile-pages.ts'

type Page = Pick<CancelledPage, 'id' | 'crawl_id' | 'output_dir'>

/** Pages that one call looks at. */
const BATCH = 500

/** After a lost claim: nothing of what we had in work stays on a page that was deleted, paused or cancelled. */
export async function reconcileWork(home: Home, page: Page): Promise<void> {
  await transact(home.db, async (tx) => {
    // Whoever has such a page worked on again takes its crawl first.
    await lockCrawlsOf(tx, [page.id])
    const now = await snapshotById(tx, page.id)
    if (now?.status === 'paused' || now?.status === 'sealed') await treeOf(home, page).tidy()
  })
  await reconcileDeleted(home, 'snapshot', page)
}

/** After a lost claim: when the row was deleted while we worked on it, what we wrote since then goes, too. */
export async function reconcileDeleted(
  { db, dataDir }: Home,
  table: 'crawl' | 'snapshot',
  row: { readonly id: string; readonly output_dir: string },
): Promise<void> {
  if (!(await isThere(db, table, row.id))) await rm(join(dataDir, row.output_dir), { recursive: true, force: true })
}

/**
 * Completes what was cancelled: a page's worker may have died before it noticed, and the command that cancelled it
 * before it had written what became of it.
 * @returns whether more may be due
 */
export async function reconcileCancelled(home: Home): Promise<boolean> {
  const rows = await cancelledPages(home.db, BATCH)
  if (rows.length === 0) return false
  // What is not sealed any more belongs to whoever works on it again.
  const pages = rows.filter(({ status }) => status === 'sealed')
  const failures: unknown[] = []
  /** What one page lacks, or one crawl, must not keep the others from being completed. */
  const attempt = async (work: () => Promise<void>) => {
    await work().catch((error: unknown) => {
      if (isDatabaseAway(error)) throw error
      failures.push(error)
    })
  }
  for (const page of pages)
    await attempt(async () => {
      if (!treeOf(home, page).isTidy) await reconcileWork(home, page)
    })
  const untold = pages.filter((page) => !tells(home, page))
  for (const crawl of new Set(untold.map((page) => page.crawl_id))) {
    const ids = untold.filter((page) => page.crawl_id === crawl).map(({ id }) => id)
    await attempt(() => reconcilePages(home, [crawl], ids))
  }
  // Somebody may have deleted them while we wrote.
  for (const page of untold) await attempt(() => reconcileDeleted(home, 'snapshot', page))
  await lookAgainLater(
    home.db,
    rows.map(({ id }) => id),
  )
  if (failures.length > 0) throw failures[0]
  return rows.length === BATCH
}

/** Was its index written since it was cancelled? */
function tells({ dataDir }: Home, { output_dir, at }: CancelledPage): boolean {
  const written = statSync(join(dataDir, output_dir, 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return written >= at.getTime()
}

const treeOf = ({ dataDir }: Home, page: Page) => new WorkTree(join(dataDir, page.output_dir))
