import { lacksRoom } from '../base/disk-room.ts'
import { failpoint } from '../base/failpoint.ts'
import { ClaimLost } from '../engine/claimed.ts'
import { snapshotQueue } from '../machines/queues.ts'
import { forgetStarted } from '../machines/results.ts'
import { archiveSnapshot } from './archive-snapshot.ts'
import { claimLoop } from './claim-loop.ts'
import { HookSequence } from './hook-sequence.ts'
import { tidyUp } from './tidy-up.ts'
import type { WorkerStation } from './worker-process.ts'

/** The SnapshotWorker: claims snapshots of the crawls that its CrawlWorker owns, one after another. */
export async function snapshotWorker(station: WorkerStation): Promise<void> {
  const sequence = new HookSequence(station, station.owner.home.dataDir)
  const queue = snapshotQueue(station.owner, station.parentId, station.scope)
  await claimLoop(station, {
    queue,
    mayClaim: () => lacksRoom(station.owner.home.dataDir, station.settings.config.DISK_FLOOR) === undefined,
    besideFirstClaim: () => sequence.warmUp(),
    tick: async (claim, dropped) => {
      await failpoint('claim.snapshot_claimed')
      await archiveSnapshot(station, queue, sequence, claim, dropped)
    },
    onTickException: async (claim, error) => {
      await sequence.endBackground(AbortSignal.abort())
      if (!(error instanceof ClaimLost)) return
      await forgetStarted(station.owner, claim.id)
      await failpoint('claim.lost_results_forgotten')
      await tidyUp(station.owner.home, claim.row)
    },
    onShutdown: () => sequence.close(),
  })
}
