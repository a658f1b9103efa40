import { isMachineTrouble, messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { isConnectionError } from '../db/database.ts'
import { ClaimLost } from '../engine/queue.ts'
import { snapshotQueue } from '../machines/queues.ts'
import { forgetStarted } from '../machines/results.ts'
import { archiveSnapshot } from './archive-snapshot.ts'
import { HookSequence } from './hook-sequence.ts'
import { withLease } from './lease.ts'
import { endExpiredOwner } from './reap.ts'
import type { WorkerStation } from './worker-process.ts'

const POLL_MS = 2_000
/** A full disk is looked at again after so long; the page is not to blame for it. */
const TROUBLE_MS = 15_000
/** How long a worker without work stays, warm, for the next. */
const IDLE_MS = 5_000

/** The SnapshotWorker: claims snapshots of the crawls that its CrawlWorker owns, one after another, until there are none for a while. */
export async function snapshotWorker(station: WorkerStation): Promise<void> {
  const sequence = new HookSequence(station, station.owner.home.dataDir)
  const queue = snapshotQueue(station.owner, station.parentId)
  try {
    let idleSince = performance.now()
    while (!station.stop.drain.aborted && performance.now() - idleSince < IDLE_MS) {
      if (await archiveNext(station, queue, sequence)) {
        idleSince = performance.now()
        continue
      }
      station.tell({ type: 'idle' })
      await station.bell.wait(POLL_MS, station.stop.drain)
    }
  } finally {
    await sequence.close()
  }
}

async function archiveNext(station: WorkerStation, queue: ReturnType<typeof snapshotQueue>, sequence: HookSequence): Promise<boolean> {
  const claim = await queue.next()
  sequence.warmUp() // Beside whatever comes next, the first time.
  if (!claim) return false
  await failpoint('claim.snapshot_claimed')
  station.tell({ type: 'busy' })
  try {
    await endExpiredOwner(station.owner, claim.expiredOwner)
    await failpoint('claim.snapshot_former_owner_ended')
    await withLease(station, queue, claim, (dropped) => archiveSnapshot(station, queue, sequence, claim, dropped))
  } catch (error) {
    await sequence.endBackground(AbortSignal.abort())
    if (error instanceof ClaimLost) {
      station.log.warn(`claim lost: ${messageOf(error)}`)
      await forgetStarted(station.owner, claim.id)
      await failpoint('claim.lost_results_forgotten')
    } else {
      // Not the hooks' failure but ours, or the machine's: later, less often each time, and not for ever.
      station.log.error(`snapshot ${claim.id}: ${messageOf(error)}`)
      if (error instanceof Error) station.log.debug(error.stack ?? '')
      const blameless = isMachineTrouble(error) || isConnectionError(error)
      await queue.release(claim, blameless ? TROUBLE_MS : 1_000 * 2 ** claim.attempts, !blameless)
      await failpoint('claim.snapshot_given_back')
    }
  }
  station.tell({ type: 'progress' })
  return true
}
