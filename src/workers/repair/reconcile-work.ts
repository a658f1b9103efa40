import { statSync } from 'node:fs'
import { join } from 'node:path'
import { removeLargeTree } from '../../base/remove-tree.ts'
import { type CancelledPage, cancelledPages, lookAgainLater } from '../../db/cancelled-pages.ts'
import type { Home } from '../../db/home.ts'
import { isThere } from '../../db/is-there.ts'
import { transact } from '../../db/retry.ts'
import { snapshotById } from '../../db/snapshots.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import { WorkTree } from '../../hooks/work-tree.ts'
import { lockCrawlsOf } from '../../machines/commands.ts'
import { reconcilePages } from './reconcile-pages.ts'

type Page = Pick<CancelledPage, 'id' | 'crawl_id' | 'output_dir'>

/** Pages per call. */
const BATCH = 500

/** After a lost claim: removes what we left on a page that was deleted, paused or cancelled. */
export async function reconcileWork(home: Home, page: Page): Promise<void> {
  const tree = treeOf(home, page)
  await transact(home.db, async (tx) => {
    // A command that reopens such a page locks its crawl first.
    await lockCrawlsOf(tx, [page.id])
    const now = await snapshotById(tx, page.id)
    if (now?.status === 'paused' || now?.status === 'sealed') await tree.reconcile()
  })
  await tree.keep() // Whatever becomes of the page.
  await reconcileDeleted(home, 'snapshot', page)
}

/** After a lost claim: when the row was deleted while we worked on it, deletes what we have written since. */
export async function reconcileDeleted(
  { db, dataDir }: Home,
  table: 'crawl' | 'snapshot',
  row: { readonly id: string; readonly output_dir: string },
): Promise<void> {
  if (!(await isThere(db, table, row.id))) await removeLargeTree(join(dataDir, row.output_dir))
}

/**
 * Completes cancellations of pages of our node: the page's worker may have died before it noticed, or the command
 * before it wrote the pages.
 * @returns whether more may be due
 */
export async function reconcileCancelled(home: Home): Promise<boolean> {
  const rows = await cancelledPages(home, BATCH)
  if (rows.length === 0) return false
  // A page that is open again belongs to its next worker.
  const pages = rows.filter(({ status }) => status === 'sealed')
  const failures: unknown[] = []
  /** A failure on one page or crawl must not keep the others from being completed. */
  const attempt = async (work: () => Promise<void>) => {
    await work().catch((error: unknown) => {
      if (isDatabaseAway(error)) throw error
      failures.push(error)
    })
  }
  for (const page of pages)
    await attempt(async () => {
      if (!treeOf(home, page).isReconciled) await reconcileWork(home, page)
    })
  const untold = pages.filter((page) => !tells(home, page))
  for (const crawl of new Set(untold.map((page) => page.crawl_id))) {
    const ids = untold.filter((page) => page.crawl_id === crawl).map(({ id }) => id)
    await attempt(() => reconcilePages(home, [crawl], ids))
  }
  // They may have been deleted while we wrote.
  for (const page of untold) await attempt(() => reconcileDeleted(home, 'snapshot', page))
  await lookAgainLater(
    home.db,
    rows.map(({ id }) => id),
  )
  if (failures.length > 0) throw failures[0]
  return rows.length === BATCH
}

/** Whether its index was written after it was cancelled. */
function tells({ dataDir }: Home, { output_dir, at }: CancelledPage): boolean {
  const written = statSync(join(dataDir, output_dir, 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return written >= at.getTime()
}

/** The work tree of a page, to be tidied up: its hooks have ended. */
export const treeOf = ({ dataDir }: Home, page: Page) => new WorkTree(join(dataDir, page.output_dir))
