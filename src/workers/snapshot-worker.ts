import { lacksRoom } from '../base/disk-room.ts'
import { failpoint } from '../base/failpoint.ts'
import { ClaimLost } from '../engine/claimed.ts'
import { snapshotQueue } from '../machines/queues.ts'
import { forgetStarted } from '../machines/results.ts'
import { archiveSnapshot } from './archive-snapshot.ts'
import { claimLoop } from './claim-loop.ts'
import { HookSequence } from './hook-sequence.ts'
import { tidyUp } from './tidy-up.ts'
import type { WorkerProcessContext } from './worker-process.ts'

/** The SnapshotWorker: claims snapshots of the crawls that its CrawlWorker owns, one after another. */
export async function snapshotWorker(context: WorkerProcessContext): Promise<void> {
  const sequence = new HookSequence(context, context.owner.home.dataDir)
  const queue = snapshotQueue(context.owner, context.parentId, context.scope)
  await claimLoop(context, {
    queue,
    mayClaim: () => lacksRoom(context.owner.home.dataDir, context.settings.config.DISK_FLOOR) === undefined,
    besideFirstClaim: () => sequence.warmUp(),
    tick: async (claim, abort) => {
      await failpoint('claim.snapshot_claimed')
      await archiveSnapshot(context, queue, sequence, claim, abort)
    },
    onTickException: async (claim, error) => {
      await sequence.endBackground(AbortSignal.abort())
      if (!(error instanceof ClaimLost)) return
      await forgetStarted(context.owner, claim.id)
      await failpoint('claim.lost_results_forgotten')
      await tidyUp(context.owner.home, claim.row)
    },
    onShutdown: () => sequence.close(),
  })
}
