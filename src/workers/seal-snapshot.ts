import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { failpoint } from '../base/failpoint.ts'
import { archivableUrl, urlFilter } from '../base/urls.ts'
import type { CrawlOfPage } from '../db/crawls.ts'
import { transact, withRetry } from '../db/retry.ts'
import { insertSnapshots, type SnapshotRow, tagSnapshots } from '../db/snapshots.ts'
import { ClaimLost } from '../engine/claimed.ts'
import type { SnapshotRecord } from '../hooks/records.ts'
import type { WorkTree } from '../hooks/work-tree.ts'
import { judge } from '../machines/judge.ts'
import { outputSize } from '../machines/outputs.ts'
import type { Owner, SnapshotClaim, snapshotQueue } from '../machines/queues.ts'
import { skipOpenResults } from '../machines/results.ts'
import { writeSnapshotPages } from './index-pages.ts'

/** What the hooks of a page found. */
interface Found {
  readonly pages: readonly SnapshotRecord[]
  readonly tags: readonly string[]
}

/**
 * The end of a page whose hooks have all ended: adds what it found, judges it, writes its index, seals. The page is
 * open until the last of these steps, so its crawl never looks finished in between; whoever claims it after a crash
 * repeats them. No lock is held while files are flushed. Throws ClaimLost.
 */
export async function sealSnapshot(
  owner: Owner,
  queue: ReturnType<typeof snapshotQueue>,
  claim: SnapshotClaim<'started'>,
  crawl: CrawlOfPage,
  tree: WorkTree,
  found: Found,
): Promise<void> {
  const { home, processId } = owner
  const snapshot = { ...claim.row, title: titleIn(tree) ?? claim.row.title }
  const written = await addFindings(owner, claim, snapshot, crawl, found)
  await failpoint('publish.page_findings_added')
  const verdict = (await withRetry(home.db, () => judge(home.db, home.dataDir, [snapshot]))).get(snapshot.id)!
  await writeSnapshotPages(home, { ...snapshot, ...written, ...verdict, status: 'sealed' }, crawl)
  await failpoint('publish.page_written')
  await queue.move(claim, 'seal', processId, verdict)
  await failpoint('publish.page_sealed')
}

async function addFindings(
  { home }: Owner,
  claim: SnapshotClaim<'started'>,
  { id, depth, title }: SnapshotRow,
  crawl: CrawlOfPage,
  found: Found,
): Promise<Pick<SnapshotRow, 'output_size' | 'status_changed_at'>> {
  const children = depth < crawl.max_depth ? childrenOf(crawl, found.pages) : []
  return await transact(home.db, async (tx) => {
    // The commit that seals flushes this one, too.
    await sql`set local synchronous_commit = off`.execute(tx)
    await insertSnapshots(tx, crawl.id, children, { depth: depth + 1, parentId: id })
    await failpoint('publish.page_children_added')
    const { rows } = await sql<Pick<SnapshotRow, 'output_size' | 'status_changed_at'>>`
      update snapshot set title = ${title}, output_size = ${outputSize(sql`${id}`)}
      where id = ${id} and claim_token = ${claim.token}
      returning output_size, now() as status_changed_at`.execute(tx)
    if (!rows[0]) throw new ClaimLost(`snapshot ${id}`)
    if (found.tags.length > 0) await tagSnapshots(tx, [id], found.tags)
    await skipOpenResults(tx, id, 'its plugin is not there, or switched off, any more')
    return rows[0]
  })
}

/** The pages that belong to the crawl: archivable, inside its filters, each once. */
function childrenOf(crawl: CrawlOfPage, pages: readonly SnapshotRecord[]): SnapshotRecord[] {
  const inside = urlFilter(crawl.config.url_allowlist ?? '', crawl.config.url_denylist ?? '')
  const children = new Map<string, SnapshotRecord>()
  for (const page of pages) {
    try {
      const url = archivableUrl(page.url)
      if (inside(url) && !children.has(url)) children.set(url, { ...page, url })
    } catch {
      // Not a page: a hook's record is not a promise.
    }
  }
  return [...children.values()]
}

/** The title that the title plugin published. */
function titleIn(tree: WorkTree): string | null {
  try {
    return (
      readFileSync(join(tree.root, 'title', 'title.txt'), 'utf8')
        .replaceAll('\u0000', '')
        .trim()
        .slice(0, 512) || null
    )
  } catch {
    return null
  }
}
