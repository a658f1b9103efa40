import { statSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Home } from '../db/home.ts'
import { transact } from '../db/retry.ts'
import type { WorkStatus } from '../db/tables.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { WorkTree } from '../hooks/work-tree.ts'
import { lockCrawls } from '../machines/commands.ts'
import { clearIfDeleted } from './deleted.ts'
import { rewritePages } from './rewrite-pages.ts'

interface Page {
  readonly id: string
  readonly crawl_id: string
  readonly output_dir: string
}

/** After a lost claim: nothing of what we had in work stays on a page that was deleted, paused or cancelled. */
export async function tidyUp(home: Home, page: Page): Promise<void> {
  await transact(home.db, async (tx) => {
    // Whoever has such a page worked on again takes its crawl first.
    await lockCrawls(tx, sql`id = ${page.crawl_id}`)
    const isNobodys = tx
      .selectFrom('snapshot')
      .select('id')
      .where('id', '=', page.id)
      .where('status', 'in', ['paused', 'sealed'])
    if (await isNobodys.executeTakeFirst()) await treeOf(home, page).tidy()
  })
  await clearIfDeleted(home, 'snapshot', page)
}

interface Cancelled extends Page {
  readonly status: WorkStatus
  /** When it was cancelled. */
  readonly at: Date
}

/** Pages that one call looks at. */
const BATCH = 500
/** How long a page is looked at, ever less often: whoever worked on it may notice late that it is not its own any more. */
const WATCHED_S = 600
const SECOND_LOOK_S = 30

/**
 * Completes what was cancelled: a page's worker may have died before it noticed, and the command that cancelled it before
 * it had written what became of it.
 * @returns whether more may be due
 */
export async function tidyUpCancelled(home: Home): Promise<boolean> {
  const { rows } = await sql<Cancelled>`
    select s.id, s.crawl_id, s.output_dir, s.status, c.at from cancelled_page c join snapshot s on s.id = c.snapshot_id
    where c.look_at <= now() order by c.look_at limit ${sql.lit(BATCH)}`.execute(home.db)
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
      if (!treeOf(home, page).isTidy) await tidyUp(home, page)
    })
  const untold = pages.filter((page) => !tells(home, page))
  const crawls = new Set(untold.map((page) => page.crawl_id))
  for (const crawl of crawls)
    await attempt(() =>
      rewritePages(
        home,
        [crawl],
        untold.filter((page) => page.crawl_id === crawl).map(({ id }) => id),
      ),
    )
  // Somebody may have deleted them while we wrote.
  for (const page of untold) await attempt(() => clearIfDeleted(home, 'snapshot', page))
  await lookAgainLater(
    home,
    rows.map(({ id }) => id),
  )
  if (failures.length > 0) throw failures[0]
  return rows.length === BATCH
}

async function lookAgainLater({ db }: Home, ids: readonly string[]): Promise<void> {
  await transact(db, async (tx) => {
    // In the order in which everybody takes them; those that somebody deletes, or cancels again, are looked at next time.
    const { rows } = await sql<{ id: string }>`
      select snapshot_id as id from cancelled_page where snapshot_id = any(${ids}::uuid[]) order by snapshot_id for update skip locked`.execute(
      tx,
    )
    const ours = rows.map(({ id }) => id)
    const isOver = sql`s.status <> 'sealed' or c.at < now() - make_interval(secs => ${WATCHED_S})`
    await sql`
      delete from cancelled_page c using snapshot s
      where c.snapshot_id = any(${ours}::uuid[]) and s.id = c.snapshot_id and (${isOver})`.execute(tx)
    await sql`
      update cancelled_page set look_at = now() + greatest(now() - at, make_interval(secs => ${SECOND_LOOK_S}))
      where snapshot_id = any(${ours}::uuid[])`.execute(tx)
  })
}

/** Was its index written since it was cancelled? */
function tells({ dataDir }: Home, { output_dir, at }: Cancelled): boolean {
  const written = statSync(join(dataDir, output_dir, 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return written >= at.getTime()
}

const treeOf = ({ dataDir }: Home, page: Page) => new WorkTree(join(dataDir, page.output_dir))
