import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { archivableUrl, urlFilter } from '../base/urls.ts'
import { type CrawlRow, crawlById } from '../db/crawls.ts'
import { insertSnapshots, openSnapshots } from '../db/snapshots.ts'
import { findPlugins, pluginTrees, selectHooks } from '../hooks/discover.ts'
import { hookSettings } from '../hooks/environment.ts'
import { describeExit } from '../hooks/terminate.ts'
import { type Claimed, ClaimLost, releaseClaim, renewClaim } from '../machines/claim.ts'
import type { crawlMachine } from '../machines/crawl.ts'
import { transition } from '../machines/transition.ts'
import { type HookSequence, logsFor } from './hook-sequence.ts'
import { writeCrawlPage } from './index-pages.ts'
import type { WorkerPool } from './worker-pool.ts'
import type { WorkerStation } from './worker-process.ts'

type Crawl = typeof crawlMachine

const LOOK_MS = 2_000

/**
 * Works on one claimed crawl to its end: its URLs become snapshots, its set-up hooks run, SnapshotWorkers archive the pages, and it is
 * sealed when none is open. Throws ClaimLost when somebody else owns the row by now.
 * @returns `released` when a drain came first
 */
export async function runCrawl(
  station: WorkerStation,
  pool: WorkerPool,
  sequence: HookSequence,
  claim: Claimed<Crawl>,
  dropped: AbortSignal,
): Promise<'sealed' | 'released'> {
  const { owner, stop, log, bell } = station
  const { home } = owner
  const crawl = await crawlById(home.db, claim.id)
  if (!crawl) throw new ClaimLost(`crawl ${claim.id} is not there any more`)
  mkdirSync(join(home.dataDir, crawl.output_dir), { recursive: true })
  const started = await ensureStarted(station, claim, crawl)
  await runSetupHooks(station, sequence, crawl, dropped)
  await writeCrawlPage(home, crawl, 'started')
  try {
    for (;;) {
      const { open, due } = await openSnapshots(home.db, crawl.id)
      if (open === 0 && (await sealed(station, started, crawl))) {
        log.info(`sealed crawl ${crawl.id}`)
        return 'sealed'
      }
      if (stop.drain.aborted || dropped.aborted) break
      await pool.fill(due)
      await bell.wait(LOOK_MS, dropped)
    }
  } finally {
    // Browsers and the like belong to the whole crawl: they end after the last snapshot's hooks.
    if (stop.drain.aborted || dropped.aborted) await pool.close()
    await sequence.endBackground(dropped)
  }
  await writeCrawlPage(home, crawl, 'started')
  await releaseClaim(owner, started)
  return 'released'
}

/** One transaction: its URLs as snapshots of depth 0, and `started`. A dead owner's crawl has that behind it. */
async function ensureStarted(station: WorkerStation, claim: Claimed<Crawl>, crawl: CrawlRow): Promise<Claimed<Crawl, 'started'>> {
  if (claim.state !== 'queued') return claim as Claimed<Crawl, 'started'>
  const inside = urlFilter(crawl.config.url_allowlist ?? '', crawl.config.url_denylist ?? '')
  const urls = new Set(crawl.urls.split('\n').filter(Boolean).map(archivableUrl).filter(inside))
  return await station.owner.home.db.transaction().execute(async (tx) => {
    await insertSnapshots(
      tx,
      crawl.id,
      [...urls].map((url) => ({ url })),
      { depth: 0, parentId: null },
    )
    return await transition(station.owner, claim as Claimed<Crawl, 'queued'>, 'start', { db: tx })
  })
}

/** Seals a crawl without open snapshots; false when one was added in the meantime. */
async function sealed(station: WorkerStation, claim: Claimed<Crawl, 'started'>, crawl: CrawlRow): Promise<boolean> {
  await writeCrawlPage(station.owner.home, crawl, 'sealed')
  const noneOpen = sql`not exists (select 1 from snapshot s where s.crawl_id = ${crawl.id} and s.status in ('queued', 'started', 'paused'))`
  try {
    await transition(station.owner, claim, 'seal', { guard: noneOpen })
    return true
  } catch (error) {
    if (!(error instanceof ClaimLost)) throw error
    await renewClaim(station.owner, claim) // Throws when it was the claim, and not a new snapshot.
    return false
  }
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
  const scope = { home, parentId: owner.processId, runnerId, target, settings }
  for (const hook of hooks) {
    if (dropped.aborted || station.stop.drain.aborted) return
    const cwd = join(crawlDir, hook.plugin)
    mkdirSync(cwd, { recursive: true })
    const way = hook.background ? 'background' : 'foreground'
    const end = await sequence[way](scope, hook, cwd, logsFor(crawlDir, hook, 1), dropped, async () => {})
    if (end && end.exit.code !== 0) log.warn(`${hook.name} failed: ${describeExit(end.exit)} (see ${end.logs.stderr})`)
  }
}
