import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../base/abort.ts'
import { lacksRoom } from '../base/disk-room.ts'
import { failpoint } from '../base/failpoint.ts'
import { brokenPatterns } from '../base/urls.ts'
import type { CrawlRow } from '../db/crawls.ts'
import { kyselySql } from '../db/database.ts'
import { transact } from '../db/retry.ts'
import { MOST_DUE, openSnapshots } from '../db/snapshots.ts'
import type { ActorPool } from '../engine/actor-pool.ts'
import type { Context } from '../engine/handlers.ts'
import { ENDED, type Ended } from '../engine/outcome.ts'
import { ClaimLost } from '../engine/queue.ts'
import { crawlSettings } from '../hooks/crawl-settings.ts'
import { crawlMachine } from '../machines/crawl.ts'
import type { CrawlClaim, crawlQueue } from '../machines/queues.ts'
import { allPagesWithin, isWithin, leavesAlone } from '../machines/scope.ts'
import { giveUpCrawl, isIdle, releaseCrawl, sealCrawl } from './crawl-ends.ts'
import { CrawlPageWriter } from './crawl-page-writer.ts'
import { expandPart } from './expand-list.ts'
import type { HookSequence } from './hook-sequence.ts'
import { writeCrawlPage } from './index-pages.ts'
import { endFormerWorkers } from './reap.ts'
import { runSetupHooks } from './setup-hooks.ts'
import { closeWorkers } from './worker-pool.ts'
import type { WorkerProcessContext } from './worker-process.ts'

type CrawlQueue = ReturnType<typeof crawlQueue>

const LOOK_MS = 2_000
/** While many pages are due, every worker finds its next one by itself: not each page that ends is looked at. */
const PACE_MS = 100
/** How long a worker may be between two pages. */
const DOUBT_MS = 500
const COME_TO_NO_END = `${crawlMachine.states.started.giveUp.after} attempts at this crawl came to no end`

/**
 * Works on one claimed crawl to its end: the first of its URLs become snapshots, its set-up hooks run, SnapshotWorkers
 * archive the pages while the rest of its list becomes snapshots, too, and it is sealed when none is open or to come.
 * Throws ClaimLost when somebody else owns the row by now.
 * It is released when a drain came first, or when what is left of it is paused, or not to be worked on here.
 * @param isGivenUp it is sealed with what it has: no claim came to the end of a single page
 */
export async function runCrawl(
  context: WorkerProcessContext,
  queue: CrawlQueue,
  pool: ActorPool,
  sequence: HookSequence,
  claim: CrawlClaim,
  tick: Context,
  isGivenUp: boolean,
): Promise<Ended> {
  const { owner, stop, log, bell, scope } = context
  const { home } = owner
  const abort = tick.signal
  const crawl = claim.row
  mkdirSync(join(home.dataDir, crawl.output_dir), { recursive: true })
  if (isGivenUp) {
    log.error(`crawl ${crawl.id}: given up: ${COME_TO_NO_END}`)
    await giveUpCrawl(owner, queue, claim, `given up: ${COME_TO_NO_END}`)
    return ENDED
  }
  // A dead owner may have left it started.
  const started = isQueued(claim) ? await start(context, queue, claim) : (claim as CrawlClaim<'started'>)
  tick.holds(started)
  sequence.onStep = (withinMs) => tick.progress(withinMs)
  await failpoint('claim.crawl_started')
  await endFormerWorkers(owner, { crawlId: crawl.id })
  await failpoint('claim.former_crawl_workers_ended')
  const before = pool.changes
  let isCutOff = await runSetupHooks(context, sequence, crawl, abort, async () => {
    if (!(await queue.renew([started])).has(crawl.id)) throw new ClaimLost(`crawl ${crawl.id} was taken away`)
    await failpoint('claim.crawl_confirmed')
  })
  await failpoint('spawn.setup_hooks_started')
  await writeCrawlPage(home, crawl, 'started')
  await failpoint('publish.crawl_page_begun')
  let { changes } = pool
  let doubtSince: number | undefined
  const page = new CrawlPageWriter(context, crawl, pool)
  try {
    for (;;) {
      tick.progress()
      if (pool.changes > changes) changes = await progressed(queue, started, pool.changes)
      const now = await openSnapshots(home.db, crawl.id)
      if (now.token !== started.token) {
        pool.recheck()
        throw new ClaimLost(`crawl ${crawl.id} was paused, sealed or taken over`)
      }
      // Somebody may have taken a page from its worker: paused it, or cancelled it. For a moment one that is between
      // two pages looks like that.
      doubtSince = pool.busy > now.claimed ? (doubtSince ?? performance.now()) : undefined
      if (doubtSince !== undefined && performance.now() - doubtSince >= DOUBT_MS) {
        pool.recheck()
        doubtSince = undefined
      }
      await page.whenDue()
      // Whoever is still at a page is so at one that was taken away, and has to hear of it before we leave.
      if (pool.busy > 0 && (!now.open || isIdle(now))) pool.recheck()
      if (!now.open && (await sealCrawl(owner, queue, started))) {
        await failpoint('publish.crawl_sealed')
        log.info(`sealed crawl ${crawl.id}`)
        return ENDED
      }
      if (stop.drain.aborted || abort.aborted || isIdle(now)) break
      if (!allPagesWithin(scope) && !(await isWithin(home.db, scope, crawl.id))) break
      await pool.killStuck()
      const hasRoom = !lacksRoom(home.dataDir, context.settings.config.DISK_FLOOR)
      await pool.fill(hasRoom && !leavesAlone(scope, 'snapshot') ? now.due : 0)
      if (now.listed && hasRoom) await expandPart(home.db, started)
      else {
        if (now.due >= MOST_DUE) await sleep(PACE_MS, abort)
        await bell.wait(doubtSince === undefined ? LOOK_MS : DOUBT_MS, abort)
      }
    }
  } finally {
    // Browsers and the like belong to the whole crawl: they end after the last snapshot's hooks.
    if (stop.drain.aborted || abort.aborted) await closeWorkers(pool)
    const ended = await sequence.endBackground(abort)
    isCutOff ||= ended.length > 0 && stop.drain.aborted
    await failpoint('shutdown.setup_hooks_ended')
  }
  if (abort.aborted && !stop.force.aborted) throw abort.reason
  await writeCrawlPage(home, crawl, 'started')
  await failpoint('publish.crawl_page_left')
  // As for a page: one of its own hooks may be behind it.
  await releaseCrawl(owner, queue, started, isCutOff && pool.changes === before && !stop.isExplained)
  await failpoint('claim.crawl_released')
  return ENDED
}

const isQueued = (claim: CrawlClaim): claim is CrawlClaim<'queued'> => claim.state === 'queued'

/** What `add` refuses today may be in a crawl of an older version: it is said, and the crawl goes on without it. */
function sayWhatIsLeftOut({ owner, settings, log }: WorkerProcessContext, { id, config }: CrawlRow): void {
  crawlSettings(owner.home.dataDir, settings, config.env, (why) =>
    log.warn(`crawl ${id}: ${why}; it counts as not set`),
  )
  for (const { pattern, why } of brokenPatterns(`${config.url_allowlist ?? ''}\n${config.url_denylist ?? ''}`))
    log.warn(`crawl ${id}: the pattern ${pattern} matches nothing: ${why}`)
}

/** One transaction: the next part of its list as snapshots, and `started`. */
async function start(
  context: WorkerProcessContext,
  queue: CrawlQueue,
  claim: CrawlClaim<'queued'>,
): Promise<CrawlClaim<'started'>> {
  sayWhatIsLeftOut(context, claim.row)
  return await transact(context.owner.home.db, async (tx, again) => {
    if (again && (await queue.on(kyselySql(tx)).hasMoved(claim, 'started'))) return { ...claim, state: 'started' }
    await expandPart(tx, claim)
    const started = await queue.on(kyselySql(tx)).move(claim, 'start', context.owner.processId)
    await failpoint('claim.crawl_starting')
    return started
  })
}

/** A page came to its end: earlier attempts that did not are no sign any more. Returns `changes`. */
async function progressed(queue: CrawlQueue, claim: CrawlClaim, changes: number): Promise<number> {
  if (claim.attempts > 1) await queue.forgetAttempts(claim)
  return changes
}
