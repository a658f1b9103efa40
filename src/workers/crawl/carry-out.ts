import { sleep } from '../../base/abort.ts'
import { lacksSpace } from '../../base/disk-space.ts'
import { openSnapshots } from '../../db/open-snapshots.ts'
import type { ActorPool } from '../../engine/actor-pool.ts'
import type { Context } from '../../engine/handlers.ts'
import { ClaimLost } from '../../engine/queue.ts'
import type { CrawlClaim, crawlQueue } from '../../machines/queues.ts'
import { allPagesWithin, excludes, isWithin } from '../../machines/scope.ts'
import type { HookSequence } from '../sequence/hook-sequence.ts'
import type { FirstWorker } from '../supervise/first-worker.ts'
import { closeWorkers } from '../supervise/worker-pool.ts'
import type { WorkerProcessContext } from '../supervise/worker-process.ts'
import { sealCrawl } from './crawl-ends.ts'
import type { CrawlPageWriter } from './crawl-page-writer.ts'
import type { CrawlState, CrawlStep } from './crawl-plan.ts'
import { writeCrawlWacz } from './crawl-wacz.ts'
import type { ListPace } from './expand-list.ts'
import type { PoolWatch } from './pool-watch.ts'
import type { Services } from './services.ts'

/** What a crawl worker works with, whichever crawl it has. */
export interface CrawlLane {
  readonly context: WorkerProcessContext
  readonly queue: ReturnType<typeof crawlQueue>
  readonly pool: ActorPool
  readonly first: FirstWorker
  readonly sequence: HookSequence
}

/** The tools for the work on one crawl. Its state is in its `CrawlState`. */
export interface CrawlInWork extends CrawlLane {
  readonly claim: CrawlClaim<'started'>
  readonly tick: Context
  readonly services: Services
  readonly page: CrawlPageWriter
  readonly list: ListPace
  readonly watch: PoolWatch
}

/** While many pages are due, workers find the next one by themselves, and the crawl need not check after each page. */
const PACE_MS = 100

/**
 * Does what is planned next for a crawl. Throws ClaimLost when another worker owns it by now.
 * @returns the changes of its state
 */
export async function carryOut(crawl: CrawlInWork, next: CrawlStep): Promise<Partial<CrawlState>> {
  const { context, queue, pool, sequence, claim, tick, services, page, list, watch } = crawl
  const { owner, stop, bell, log } = context
  switch (next.do) {
    case 'look':
      return await look(crawl)
    case 'serve again':
      await closeWorkers(pool)
      await services.restart()
      return { services: 'up' }
    case 'bundle': {
      const isWhole = await writeCrawlWacz(context, claim.row, AbortSignal.any([stop.drain, tick.signal]))
      return { bundle: isWhole ? 'written' : 'cut short' }
    }
    case 'end services':
      if (sequence.background.areAny) await closeWorkers(pool)
      return { services: (await services.end()) ? 'ended' : 'killed' }
    case 'seal':
      if (await sealCrawl(owner, queue, claim, log)) {
        log.about({ crawl_id: claim.id }).info(`sealed crawl ${claim.id}`, { event: 'crawl.sealed' })
        return { isSealed: true }
      }
      // A page was added meanwhile.
      await services.startAgain()
      return { services: 'up', pages: undefined }
    case 'work':
      await pool.killStuck()
      await pool.fill(next.begin)
      await page.whenDue()
      if (next.meanwhile === 'expand') await list.expand(owner.home.db, claim)
      if (next.meanwhile === 'pace') await sleep(PACE_MS, tick.signal)
      if (next.meanwhile !== 'expand') await bell.wait(watch.waitMs, tick.signal)
      return { pages: undefined }
  }
}

/** Looks at the current state of the crawl, its services and its pages. */
async function look(crawl: CrawlInWork): Promise<Partial<CrawlState>> {
  const { context, queue, pool, claim, tick, services, list, watch } = crawl
  const { home } = context.owner
  tick.progress()
  if (await services.haveEnded()) return { services: 'fallen' }
  if (watch.hasProgressed() && claim.attempts > 1) await queue.forgetAttempts(claim)
  const pages = await openSnapshots(home, claim.id)
  if (pages.token !== claim.token) {
    pool.recheck()
    throw new ClaimLost(`crawl ${claim.id} was paused, sealed or taken over`)
  }
  watch.tend(pages)
  const isInScope = allPagesWithin(context.scope) || !pages.open || (await isWithin(home, context.scope, claim.id))
  const hasSpace = hasSpaceIn(context)
  return {
    pages,
    isInScope,
    hasSpace,
    mayBegin: mayBegin(crawl, tick.signal, hasSpace),
    isListDue: list.isDue,
    bundle: 'due',
  }
}

const hasSpaceIn = ({ owner, settings }: WorkerProcessContext) =>
  lacksSpace(owner.home.dataDir, settings.config.DISK_FLOOR) === undefined

/** Whether a page may begin. One that is begun during a stop comes to nothing, and would count as tried. */
export const mayBegin = (
  { context }: Pick<CrawlLane, 'context'>,
  abort: AbortSignal,
  hasSpace = hasSpaceIn(context),
): boolean => hasSpace && !excludes(context.scope, 'snapshot') && !context.stop.drain.aborted && !abort.aborted
