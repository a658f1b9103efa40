import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { failpoint } from '../base/failpoint.ts'
import { archivableUrl, urlFilter } from '../base/urls.ts'
import { type CrawlRow, crawlById } from '../db/crawls.ts'
import { kyselySql } from '../db/database.ts'
import { insertSnapshots, tagSnapshots } from '../db/snapshots.ts'
import { ClaimLost } from '../engine/queue.ts'
import { findPlugins, pluginTrees, selectHooks } from '../hooks/discover.ts'
import { hookSettings } from '../hooks/environment.ts'
import type { SnapshotRecord } from '../hooks/records.ts'
import { WorkTree } from '../hooks/work-tree.ts'
import type { SnapshotClaim, snapshotQueue } from '../machines/queues.ts'
import { prepareResults, skipOpenResults } from '../machines/results.ts'
import type { HookSequence } from './hook-sequence.ts'
import { writeSnapshotPages } from './index-pages.ts'
import { endFormerWorkers } from './reap.ts'
import { SnapshotHooks } from './snapshot-hooks.ts'
import type { Station } from './station.ts'

type SnapshotQueue = ReturnType<typeof snapshotQueue>

/** Claims without a clean end after which a snapshot's open hooks become failed results: it kills its worker each time. */
const MAX_ATTEMPTS = 5

/**
 * Archives one claimed snapshot: runs the hooks that have no final result yet, publishes their outputs, writes the index page, adds the
 * pages they found, seals. Throws ClaimLost when somebody else owns the row by now.
 * @param dropped aborts when everything is to be dropped: on force, and when the lease is lost
 * @returns `released` when a drain left hooks for later
 */
export async function archiveSnapshot(
  station: Station,
  queue: SnapshotQueue,
  sequence: HookSequence,
  claim: SnapshotClaim,
  dropped: AbortSignal,
): Promise<'sealed' | 'released'> {
  const { owner, runnerId, log, stop } = station
  const { home } = owner
  const snapshot = claim.row
  const crawl = await crawlById(home.db, snapshot.crawl_id)
  if (!crawl) throw new ClaimLost(`snapshot ${claim.id} is not there any more`)
  // A dead owner may have left it started.
  const started = isQueued(claim) ? await queue.move(claim, 'start', owner.processId) : (claim as SnapshotClaim<'started'>)
  await failpoint('claim.snapshot_started')

  const settings = hookSettings([station.settings, crawl.config.env ?? {}])
  const hooks = selectHooks(findPlugins(pluginTrees(home.dataDir, settings)), 'Snapshot', settings, crawl.config.plugins)
  const tree = new WorkTree(join(home.dataDir, snapshot.output_dir))
  mkdirSync(tree.root, { recursive: true })
  await endFormerWorkers(owner, snapshot.id)
  await failpoint('claim.former_workers_ended')
  await tree.open()
  await failpoint('publish.work_opened')
  const target = {
    dataDir: home.dataDir,
    crawlId: crawl.id,
    crawlDir: join(home.dataDir, crawl.output_dir),
    snapshotId: snapshot.id,
    snapDir: tree.work,
    depth: snapshot.depth,
    url: snapshot.url,
  }
  const run = new SnapshotHooks(station, sequence, started, tree, { home, parentId: owner.processId, runnerId, target, settings }, dropped)
  const results = await prepareResults(owner, started, hooks)
  await failpoint('claim.results_prepared')
  if (claim.attempts > MAX_ATTEMPTS) await run.giveUp(hooks, results, `given up: ${MAX_ATTEMPTS} attempts at this page came to no end`)
  else await run.run(hooks, results)
  if (run.unfinished) {
    if (dropped.aborted && !stop.force.aborted) throw new ClaimLost(`snapshot ${claim.id}: its lease could not be renewed`)
    await queue.release(started)
    await failpoint('claim.snapshot_released')
    return 'released'
  }
  await failpoint('publish.page_unsealed')
  await seal(station, queue, started, crawl, tree, run)
  await failpoint('publish.page_sealed')
  tree.close()
  await failpoint('publish.work_closed')
  log.info(`archived ${snapshot.url}`)
  return 'sealed'
}

const isQueued = (claim: SnapshotClaim): claim is SnapshotClaim<'queued'> => claim.state === 'queued'

/** One transaction: the pages it found and its own end, so that a crawl never looks finished in between. */
async function seal(
  station: Station,
  queue: SnapshotQueue,
  claim: SnapshotClaim<'started'>,
  crawl: CrawlRow,
  tree: WorkTree,
  found: { readonly pages: readonly SnapshotRecord[]; readonly tags: readonly string[] },
): Promise<void> {
  const { db } = station.owner.home
  const snapshot = claim.row
  const title = titleIn(tree) ?? snapshot.title
  const children = snapshot.depth < crawl.max_depth ? childrenOf(crawl, found.pages) : []
  await db.transaction().execute(async (tx) => {
    await insertSnapshots(tx, crawl.id, children, { depth: snapshot.depth + 1, parentId: snapshot.id })
    await failpoint('publish.page_children_added')
    if (found.tags.length > 0) await tagSnapshots(tx, [snapshot.id], found.tags)
    await skipOpenResults(tx, snapshot.id, 'its plugin is not there, or switched off, any more')
    await sql`
      update snapshot set title = ${title}, output_size = (select coalesce(sum(output_size), 0) from archive_result where snapshot_id = ${snapshot.id})
      where id = ${snapshot.id} and claim_token = ${claim.token}`.execute(tx)
    // From inside: it shows the results as this transaction leaves them. A page without its row is written again.
    await writeSnapshotPages(tx, station.owner.home.dataDir, { ...snapshot, title }, crawl)
    await failpoint('publish.page_written')
    await queue.on(kyselySql(tx)).move(claim, 'seal', station.owner.processId)
    await failpoint('publish.page_sealing')
  })
}

/** The pages that belong to the crawl: archivable, inside its filters, each once. */
function childrenOf(crawl: CrawlRow, pages: readonly SnapshotRecord[]): SnapshotRecord[] {
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
