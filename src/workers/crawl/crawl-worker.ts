import { messageOf } from '../../base/errors.ts'
import { ClaimLost } from '../../engine/claimed.ts'
import { crawlQueue } from '../../machines/queues.ts'
import { excludes } from '../../machines/scope.ts'
import { reconcileDeleted } from '../repair/reconcile-work.ts'
import { HookSequence } from '../sequence/hook-sequence.ts'
import { FirstWorker } from '../supervise/first-worker.ts'
import { snapshotWorkers } from '../supervise/sizes.ts'
import { workerActor } from '../supervise/worker-actor.ts'
import { workerPool } from '../supervise/worker-pool.ts'
import type { WorkerProcessContext } from '../supervise/worker-process.ts'
import { giveUpCrawl } from './crawl-ends.ts'
import { runCrawl } from './run-crawl.ts'

/** The CrawlWorker: claims crawls one after another and supervises the SnapshotWorkers that archive their pages. */
export async function crawlWorker(context: WorkerProcessContext): Promise<void> {
  const { supervised, sharesSlots, bell, log } = context
  const { home } = context.owner
  const { config } = context.settings
  const pool = workerPool(context, {
    kind: 'snapshot',
    size: sharesSlots ? 0 : snapshotWorkers(config),
    holds: () => first.isHeld,
  })
  const first = new FirstWorker(pool)
  if (!sharesSlots && !excludes(context.scope, 'snapshot')) first.start()
  if (sharesSlots)
    supervised.slots.watch((count) => {
      pool.resize(Math.min(count, config.MAX_SNAPSHOT_WORKERS ?? count), () =>
        supervised.tell({ type: 'slots released', count }),
      )
      bell.wake()
    })
  const sequence = new HookSequence(context, home.dataDir)
  const queue = crawlQueue(context.owner, context.scope)
  const lane = { context, queue, pool, first, sequence }
  await workerActor(context, {
    queue,
    tick: async (claim, tick, isGivenUp) =>
      isGivenUp ? await giveUpCrawl(context, queue, claim) : await runCrawl(lane, claim, tick),
    // The snapshot workers own their claims; they notice at their next claim that the crawl is no longer ours.
    onTickException: async (claim, error) => {
      await sequence.endLeft()
      if (error instanceof ClaimLost)
        await reconcileDeleted(home, 'crawl', claim.row).catch((why: unknown) =>
          log.warn(`crawl ${claim.id}: if it was deleted, what was written since is left: ${messageOf(why)}`),
        )
    },
    onShutdown: async () => {
      await first.close()
      await sequence.close()
    },
  })
}
