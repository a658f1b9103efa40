import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { failpoint } from '../../base/failpoint.ts'
import type { Context } from '../../engine/handlers.ts'
import { ENDED, type Ended, RELEASED } from '../../engine/outcome.ts'
import type { CrawlClaim } from '../../machines/queues.ts'
import { writeCrawlPage } from '../index/index-pages.ts'
import { hasSetupHooks } from '../sequence/setup-hooks.ts'
import { endFormerWorkers } from '../supervise/reap.ts'
import { closeWorkers, passOnStops } from '../supervise/worker-pool.ts'
import { type CrawlInWork, type CrawlLane, carryOut, mayBegin } from './carry-out.ts'
import { releaseCrawl } from './crawl-ends.ts'
import { CrawlPageWriter } from './crawl-page-writer.ts'
import { planCrawl, STARTED } from './crawl-plan.ts'
import { ListPace } from './expand-list.ts'
import { PoolWatch } from './pool-watch.ts'
import { Services } from './services.ts'
import { sayWhatIsLeftOut, startCrawl } from './start-crawl.ts'

/**
 * Works on one claimed crawl to its end: turns the first part of its list into snapshots, runs its set-up hooks, has
 * SnapshotWorkers archive the pages while the rest of the list becomes snapshots, and seals when none is open or to
 * come. It releases the crawl instead on a drain, or when the open pages are paused or out of scope. Throws ClaimLost
 * when another worker owns the row by now.
 */
export async function runCrawl(lane: CrawlLane, claim: CrawlClaim, tick: Context): Promise<Ended> {
  const { pool, context } = lane
  const { owner, stop } = context
  mkdirSync(join(owner.home.dataDir, claim.row.output_dir), { recursive: true })
  const crawl = await begin(lane, claim, tick)
  const endPassing = passOnStops(pool, stop)
  let state = STARTED
  try {
    for (;;) {
      state = { ...state, isStopped: stop.drain.aborted || tick.signal.aborted }
      const next = planCrawl(state)
      if (next.do === 'release' || next.do === 'rest') break
      state = { ...state, ...(await carryOut(crawl, next)) }
    }
  } finally {
    // Browsers and the like serve the whole crawl: they end after the last snapshot's hooks.
    if (stop.drain.aborted || tick.signal.aborted) await closeWorkers(pool)
    endPassing()
    await crawl.services.end()
  }
  return state.isSealed ? ENDED : await release(crawl)
}

/** Has its row started, and what runs for all its pages. */
async function begin(lane: CrawlLane, claim: CrawlClaim, tick: Context): Promise<CrawlInWork> {
  const { context, queue, pool, first, sequence } = lane
  const { stop } = context
  const abort = tick.signal
  sayWhatIsLeftOut(context, claim.row)
  // Idle workers would begin its pages as soon as there are any, whatever still prepares the crawl.
  const isPrepared = hasSetupHooks(context, claim.row)
  if (pool.size > 0 && !first.isHeld && isPrepared) await closeWorkers(pool)
  // A previous owner may have left it started.
  const started = isQueued(claim)
    ? await startCrawl(context, queue, claim, !isPrepared)
    : (claim as CrawlInWork['claim'])
  const { dataDirId } = context.owner.home
  if (!isQueued(claim) && claim.row.home_node !== dataDirId) await queue.update(claim, { home_node: dataDirId })
  tick.holds(started)
  sequence.onStep = (withinMs) => tick.progress(withinMs)
  await failpoint('claim.crawl_started')
  const watch = new PoolWatch(pool)
  // Nothing prepares a crawl for which workers were kept: a page can begin while we look after the rest.
  if (isQueued(claim) && pool.size > 0 && !first.isHeld && mayBegin(lane, abort)) await pool.fill(1)
  await endFormerWorkers(context.owner, claim.id)
  const services = new Services(context, queue, sequence, started, abort)
  await services.start()
  // A page that is begun in a stop comes to nothing, and would count as tried.
  if (!stop.drain.aborted && !abort.aborted) await first.begin()
  const page = new CrawlPageWriter(context, claim.row, pool)
  return { ...lane, claim: started, tick, services, watch, page, list: new ListPace(claim.row) }
}

const isQueued = (claim: CrawlClaim): claim is CrawlClaim<'queued'> => claim.state === 'queued'

async function release({ context, queue, claim, tick, services, watch }: CrawlInWork): Promise<Ended> {
  const { owner, stop } = context
  if (tick.signal.aborted && !stop.force.aborted) throw tick.signal.reason
  await writeCrawlPage(owner.home, claim.id, { ...claim.row, status: 'started' })
  // As for a page: one of the crawl's own hooks may be the cause.
  await releaseCrawl(owner, queue, claim, services.isCutOff && watch.cameToNothing && !stop.isExplained)
  await failpoint('claim.crawl_released')
  return watch.cameToNothing ? RELEASED : ENDED
}
