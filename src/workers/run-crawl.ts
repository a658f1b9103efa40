import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { failpoint } from '../base/failpoint.ts'
import { archivableUrl, urlFilter } from '../base/urls.ts'
import { type CrawlRow, lockCrawl, wasStarted } from '../db/crawls.ts'
import { kyselySql } from '../db/database.ts'
import { transact } from '../db/patience.ts'
import { insertSnapshots, openSnapshots } from '../db/snapshots.ts'
import { ClaimLost, RETRY_AT_MAX } from '../engine/queue.ts'
import { findPlugins, pluginTrees, selectHooks } from '../hooks/discover.ts'
import { hookSettings } from '../hooks/environment.ts'
import { describeExit } from '../hooks/terminate.ts'
import type { CrawlClaim, crawlQueue } from '../machines/queues.ts'
import { allPagesWithin, isWithin } from '../machines/scope.ts'
import { type HookSequence, logsFor } from './hook-sequence.ts'
import { writeCrawlPage } from './index-pages.ts'
import type { WorkerPool } from './worker-pool.ts'
import type { WorkerStation } from './worker-process.ts'

type CrawlQueue = ReturnType<typeof crawlQueue>

const LOOK_MS = 2_000

/**
 * Works on one claimed crawl to its end: its URLs become snapshots, its set-up hooks run, SnapshotWorkers archive the pages, and it is
 * sealed when none is open. Throws ClaimLost when somebody else owns the row by now.
 * @returns `released` when a drain came first, or when what is left of it is paused, or not to be worked on here
 */
export async function runCrawl(
  station: WorkerStation,
  queue: CrawlQueue,
  pool: WorkerPool,
  sequence: HookSequence,
  claim: CrawlClaim,
  dropped: AbortSignal,
): Promise<'sealed' | 'released'> {
  const { owner, stop, log, bell, scope } = station
  const { home } = owner
  const crawl = claim.row
  mkdirSync(join(home.dataDir, crawl.output_dir), { recursive: true })
  // A dead owner may have left it started.
  const started = isQueued(claim) ? await start(station, queue, claim) : (claim as CrawlClaim<'started'>)
  await failpoint('claim.crawl_started')
  await runSetupHooks(station, sequence, crawl, dropped)
  await failpoint('spawn.setup_hooks_started')
  await writeCrawlPage(home, crawl, 'started')
  await failpoint('publish.crawl_page_begun')
  let pausedBefore = 0
  try {
    for (;;) {
      const { open, paused, due, token } = await openSnapshots(home.db, crawl.id)
      if (token !== started.token) {
        pool.recheck()
        throw new ClaimLost(`crawl ${crawl.id} was paused, sealed or taken over`)
      }
      if (open === 0 && (await sealed(station, queue, started))) {
        await failpoint('publish.crawl_sealed')
        log.info(`sealed crawl ${crawl.id}`)
        return 'sealed'
      }
      if (paused > pausedBefore) pool.recheck() // One of them may have been taken from its worker.
      pausedBefore = paused
      if (stop.drain.aborted || dropped.aborted || (open > 0 && open === paused)) break
      if (!allPagesWithin(scope) && !(await isWithin(home.db, scope, crawl.id))) break
      await pool.killStuck()
      await pool.fill(due)
      await bell.wait(LOOK_MS, dropped)
    }
  } finally {
    // Browsers and the like belong to the whole crawl: they end after the last snapshot's hooks.
    if (stop.drain.aborted || dropped.aborted) await pool.close()
    await sequence.endBackground(dropped)
    await failpoint('shutdown.setup_hooks_ended')
  }
  await writeCrawlPage(home, crawl, 'started')
  await failpoint('publish.crawl_page_left')
  await putBack(station, queue, started)
  await failpoint('claim.crawl_released')
  return 'released'
}

const isQueued = (claim: CrawlClaim): claim is CrawlClaim<'queued'> => claim.state === 'queued'

/** One transaction: its URLs as snapshots of depth 0, and `started`. */
async function start(station: WorkerStation, queue: CrawlQueue, claim: CrawlClaim<'queued'>): Promise<CrawlClaim<'started'>> {
  const crawl = claim.row
  const inside = urlFilter(crawl.config.url_allowlist ?? '', crawl.config.url_denylist ?? '')
  const urls = new Set(crawl.urls.split('\n').filter(Boolean).map(archivableUrl).filter(inside))
  return await transact(station.owner.home.db, async (tx, again) => {
    if (again && (await queue.hasMoved(tx, claim, 'started'))) return { ...claim, state: 'started' }
    // Once: a page that was deleted does not come back with a retry.
    const pages = (await wasStarted(tx, crawl.id)) ? [] : [...urls].map((url) => ({ url }))
    await insertSnapshots(tx, crawl.id, pages, { depth: 0, parentId: null })
    await failpoint('claim.crawl_pages_added')
    const started = await queue.on(kyselySql(tx)).move(claim, 'start', station.owner.processId)
    await failpoint('claim.crawl_starting')
    return started
  })
}

/** Seals a crawl without open snapshots; false when one was added in the meantime. */
async function sealed(station: WorkerStation, queue: CrawlQueue, claim: CrawlClaim<'started'>): Promise<boolean> {
  const { home, processId } = station.owner
  await writeCrawlPage(home, claim.row, 'sealed')
  await failpoint('publish.crawl_page_written')
  return await transact(home.db, async (tx, again) => {
    if (again && (await queue.hasMoved(tx, claim, 'sealed'))) return true
    // Whoever adds a snapshot takes this lock first: from here on there are none, or we see it.
    await lockCrawl(tx, claim.id)
    if ((await openSnapshots(tx, claim.id)).open > 0) return false
    await queue.on(kyselySql(tx)).move(claim, 'seal', processId)
    await failpoint('publish.crawl_sealing')
    return true
  })
}

/** Gives a crawl back, due at once; one of which only paused snapshots are left sleeps until something becomes of them. */
async function putBack({ owner: { home } }: WorkerStation, queue: CrawlQueue, claim: CrawlClaim<'started'>): Promise<void> {
  await home.db.transaction().execute(async (tx) => {
    // Whoever resumes a snapshot takes this lock first, and wakes its crawl when nobody works on that.
    await lockCrawl(tx, claim.id)
    const { open, paused } = await openSnapshots(tx, claim.id)
    await queue.on(kyselySql(tx)).release(claim, open === paused && open > 0 ? RETRY_AT_MAX.getTime() - Date.now() : 0)
    await failpoint('claim.crawl_releasing')
  })
}

/** Hooks for the crawl as a whole, such as a browser that all its pages share. A failed one is said, and the pages go on without it. */
async function runSetupHooks(station: WorkerStation, sequence: HookSequence, crawl: CrawlRow, dropped: AbortSignal): Promise<void> {
  const { owner, runnerId, log } = station
  const { home } = owner
  const settings = hookSettings([station.settings, crawl.config.env ?? {}])
  const hooks = selectHooks(findPlugins(pluginTrees(home.dataDir, settings)), 'CrawlSetup', settings, crawl.config.plugins)
  const crawlDir = join(home.dataDir, crawl.output_dir)
  const url = crawl.urls.split('\n')[0] ?? ''
  const target = { dataDir: home.dataDir, crawlId: crawl.id, crawlDir, depth: 0, url }
  const scope = { home, parentId: owner.processId, runnerId, containment: station.containment, target, settings }
  for (const hook of hooks) {
    if (dropped.aborted || station.stop.drain.aborted) return
    const cwd = join(crawlDir, hook.plugin)
    mkdirSync(cwd, { recursive: true })
    const way = hook.background ? 'background' : 'foreground'
    const end = await sequence[way](scope, hook, cwd, logsFor(crawlDir, hook, 1), dropped, async () => {})
    if (end && end.exit.code !== 0) log.warn(`${hook.name} failed: ${describeExit(end.exit)} (see ${end.logs.stderr})`)
  }
}
