import { lacksSpace } from '../base/disk-space.ts'
import { failpoint } from '../base/failpoint.ts'
import { ClaimLost } from '../engine/claimed.ts'
import { snapshotQueue } from '../machines/queues.ts'
import { forgetStarted } from '../machines/results.ts'
import { archiveSnapshot } from './archive-snapshot.ts'
import { HookSequence } from './hook-sequence.ts'
import { reconcileWork } from './reconcile-work.ts'
import { workerActor } from './worker-actor.ts'
import type { WorkerProcessContext } from './worker-process.ts'

/** The SnapshotWorker: claims snapshots of the crawls that its CrawlWorker owns, one after another. */
export async function snapshotWorker(context: WorkerProcessContext): Promise<void> {
  const { owner, settings } = context
  const sequence = new HookSequence(context, owner.home.dataDir)
  const queue = snapshotQueue(owner, context.parentId, context.scope)
  await workerActor(context, {
    queue,
    mayClaim: () => !context.holds() && lacksSpace(owner.home.dataDir, settings.config.DISK_FLOOR) === undefined,
    warmUp: () => sequence.warmUp(),
    tick: async (claim, tick, isGivenUp) => {
      return await archiveSnapshot(context, queue, sequence, claim, tick, isGivenUp)
    },
    onTickException: async (claim, error) => {
      await sequence.endBackground(AbortSignal.abort())
      if (!(error instanceof ClaimLost)) return
      await forgetStarted(owner, claim.id)
      await failpoint('claim.lost_results_forgotten')
      await reconcileWork(owner.home, claim.row)
    },
    onShutdown: () => sequence.close(),
  })
}
