import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../../base/abort.ts'
import { lacksSpace } from '../../base/disk-space.ts'
import { failpoint } from '../../base/failpoint.ts'
import { brokenPatterns } from '../../base/urls.ts'
import { passPart } from '../../db/crawl-sources.ts'
import type { CrawlRow } from '../../db/crawls.ts'
import { kyselySql } from '../../db/database.ts'
import { transact } from '../../db/retry.ts'
import { MOST_DUE, openSnapshots } from '../../db/snapshots.ts'
import type { ActorPool } from '../../engine/actor-pool.ts'
import type { Context } from '../../engine/handlers.ts'
import { ENDED, type Ended, RELEASED } from '../../engine/outcome.ts'
import { ClaimLost } from '../../engine/queue.ts'
import { crawlSettings } from '../../hooks/crawl-settings.ts'
import { crawlMachine } from '../../machines/crawl.ts'
import type { CrawlClaim, crawlQueue } from '../../machines/queues.ts'
import { allPagesWithin, excludes, isWithin } from '../../machines/scope.ts'
import { startAtOnce } from '../../machines/start-crawl.ts'
import { writeCrawlPage } from '../index/index-pages.ts'
import type { HookSequence } from '../sequence/hook-sequence.ts'
import { hasSetupHooks } from '../sequence/setup-hooks.ts'
import type { FirstWorker } from '../supervise/first-worker.ts'
import { endFormerWorkers } from '../supervise/reap.ts'
import { closeWorkers, passOnStops } from '../supervise/worker-pool.ts'
import type { WorkerProcessContext } from '../supervise/worker-process.ts'
import { giveUpCrawl, isIdle, releaseCrawl, sealCrawl } from './crawl-ends.ts'
import { CrawlPageWriter } from './crawl-page-writer.ts'
import { writeCrawlWacz } from './crawl-wacz.ts'
import { addPart, expandPart } from './expand-list.ts'
import { Services } from './services.ts'

type CrawlQueue = ReturnType<typeof crawlQueue>

const LOOK_MS = 2_000
/** While many pages are due, workers find the next one by themselves, and the crawl need not check after each page. */
const PACE_MS = 100
/** How long a worker may take from one page to the next. */
const DOUBT_MS = 500
const SPENT = `${crawlMachine.states.started.giveUp.after} attempts at this crawl did not finish`

/**
 * Works on one claimed crawl to its end: turns the first part of its list into snapshots, runs its set-up hooks, has
 * SnapshotWorkers archive the pages while the rest of the list becomes snapshots, and seals when none is open or to
 * come. It releases the crawl instead on a drain, or when the open pages are paused or out of scope. Throws ClaimLost
 * when another worker owns the row by now.
 * @param isGivenUp seals the crawl with the pages it has, because no attempt got a single page further
 */
export async function runCrawl(
  context: WorkerProcessContext,
  queue: CrawlQueue,
  pool: ActorPool,
  first: FirstWorker,
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
    log.error(`crawl ${crawl.id}: given up: ${SPENT}`)
    await giveUpCrawl(owner, queue, claim, `given up: ${SPENT}`)
    return ENDED
  }
  sayWhatIsLeftOut(context, crawl)
  // Idle workers would begin its pages as soon as there are any, whatever still prepares the crawl.
  const isPrepared = hasSetupHooks(context, crawl)
  if (pool.size > 0 && !first.isHeld && isPrepared) await closeWorkers(pool)
  // A previous owner may have left it started.
  const started = isQueued(claim) ? await start(context, queue, claim, !isPrepared) : (claim as CrawlClaim<'started'>)
  tick.holds(started)
  sequence.onStep = (withinMs) => tick.progress(withinMs)
  await failpoint('claim.crawl_started')
  const before = pool.changes
  const hasSpace = () => !lacksSpace(home.dataDir, context.settings.config.DISK_FLOOR)
  const mayBegin = () => hasSpace() && !excludes(scope, 'snapshot') && !stop.drain.aborted && !abort.aborted
  // Nothing prepares a crawl for which workers were kept: a page can begin while we look after the rest.
  if (isQueued(claim) && pool.size > 0 && !first.isHeld && mayBegin()) await pool.fill(1)
  await endFormerWorkers(owner, crawl.id)
  const services = new Services(context, queue, sequence, started, abort)
  await services.start()
  // A page that is begun in a stop comes to nothing, and would count as tried.
  if (!stop.drain.aborted && !abort.aborted) await first.begin()
  let changes = before
  let doubtSince: number | undefined
  const page = new CrawlPageWriter(context, crawl, pool)
  const endPassing = passOnStops(pool, stop)
  try {
    for (;;) {
      tick.progress()
      if (await services.haveEnded()) {
        await closeWorkers(pool)
        await services.restart()
      }
      if (pool.changes > changes) changes = await progressed(queue, started, pool.changes)
      const now = await openSnapshots(home.db, crawl.id)
      if (now.token !== started.token) {
        pool.recheck()
        throw new ClaimLost(`crawl ${crawl.id} was paused, sealed or taken over`)
      }
      // A page may have been taken from its worker by a pause or a cancellation. A worker between two pages briefly
      // looks the same.
      doubtSince = pool.busy > now.claimed ? (doubtSince ?? performance.now()) : undefined
      if (doubtSince !== undefined && performance.now() - doubtSince >= DOUBT_MS) {
        pool.recheck()
        doubtSince = undefined
      }
      // A worker that is still busy has a page that was taken away, and must be told before we exit.
      if (pool.busy > 0 && (!now.open || isIdle(now))) pool.recheck()
      const isOver = !now.open && (await writeCrawlWacz(context, crawl, AbortSignal.any([stop.drain, abort])))
      if (isOver) {
        // Before the seal: without a claim nobody would give them their time, or clean up after a crash of ours.
        const isServed = sequence.hasBackground
        if (isServed) await closeWorkers(pool)
        if (!(await services.end())) break
        if (await sealCrawl(owner, queue, started, log)) {
          log.info(`sealed crawl ${crawl.id}`)
          return ENDED
        }
        if (isServed) await services.start() // A page was added meanwhile.
      }
      if (stop.drain.aborted || abort.aborted || isIdle(now)) break
      if (!allPagesWithin(scope) && !(await isWithin(home.db, scope, crawl.id))) break
      await pool.killStuck()
      await pool.fill(mayBegin() ? now.due : 0)
      await page.whenDue()
      if (now.listed && hasSpace()) await expandPart(home.db, started)
      else {
        if (now.due >= MOST_DUE) await sleep(PACE_MS, abort)
        await bell.wait(doubtSince === undefined ? LOOK_MS : DOUBT_MS, abort)
      }
    }
  } finally {
    // Browsers and the like serve the whole crawl: they end after the last snapshot's hooks.
    if (stop.drain.aborted || abort.aborted) await closeWorkers(pool)
    endPassing()
    await services.end()
  }
  if (abort.aborted && !stop.force.aborted) throw abort.reason
  await writeCrawlPage(home, crawl, 'started')
  // As for a page: one of the crawl's own hooks may be the cause.
  await releaseCrawl(owner, queue, started, services.isCutOff && pool.changes === before && !stop.isExplained)
  await failpoint('claim.crawl_released')
  return pool.changes > before ? ENDED : RELEASED
}

const isQueued = (claim: CrawlClaim): claim is CrawlClaim<'queued'> => claim.state === 'queued'

/** Of crawls of this process: they are claimed again and again. */
const SAID = new Set<string>()

/**
 * A row may hold what `add` refuses today, from an older version, or what no row may say, from another hand: warns, and
 * goes on without it.
 */
function sayWhatIsLeftOut({ owner, settings, log }: WorkerProcessContext, { id, config }: CrawlRow): void {
  const say = (what: string) => {
    if (!SAID.has(`${id} ${what}`)) log.warn(`crawl ${id}: ${what}`)
    SAID.add(`${id} ${what}`)
  }
  crawlSettings(owner.home.dataDir, settings, config, (why) => say(`${why}; it counts as not set`))
  for (const { pattern, why } of brokenPatterns(`${config.url_allowlist ?? ''}\n${config.url_denylist ?? ''}`))
    say(`the pattern ${pattern} matches nothing: ${why}`)
}

/**
 * Adds the next part of the list and moves the crawl to `started`, all of it or nothing.
 * @param isRelaxed as for `startAtOnce`
 */
async function start(
  context: WorkerProcessContext,
  queue: CrawlQueue,
  claim: CrawlClaim<'queued'>,
  isRelaxed: boolean,
): Promise<CrawlClaim<'started'>> {
  const started = await startAtOnce(context.owner, queue, claim, isRelaxed)
  if (started) return started
  return await transact(context.owner.home.db, async (tx, again) => {
    if (again && (await queue.on(kyselySql(tx)).hasMoved(claim, 'started'))) return { ...claim, state: 'started' }
    const added = await addPart(tx, claim)
    if (added && !added.isLast) await passPart(tx, claim.id, added.part)
    const fields = added?.isLast ? { next_part: null } : undefined
    return await queue.on(kyselySql(tx)).move(claim, 'start', context.owner.processId, fields)
  })
}

/** Forgets earlier failed attempts once a page got further. @returns `changes` */
async function progressed(queue: CrawlQueue, claim: CrawlClaim, changes: number): Promise<number> {
  if (claim.attempts > 1) await queue.forgetAttempts(claim)
  return changes
}
