import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { ClaimLost } from '../engine/queue.ts'
import { crawlQueue } from '../machines/queues.ts'
import { HookSequence } from './hook-sequence.ts'
import { withLease } from './lease.ts'
import { endExpiredOwner } from './reap.ts'
import { runCrawl } from './run-crawl.ts'
import { snapshotWorkers } from './sizes.ts'
import { WorkerPool } from './worker-pool.ts'
import type { WorkerStation } from './worker-process.ts'

const POLL_MS = 2_000
const IDLE_MS = 5_000

/** The CrawlWorker: claims crawls one after another, and supervises the SnapshotWorkers that archive their pages. */
export async function crawlWorker(station: WorkerStation): Promise<void> {
  const { home } = station.owner
  const pool = new WorkerPool(station, { kind: 'snapshot', size: snapshotWorkers(station.settings), cwd: home.dataDir })
  const sequence = new HookSequence(station, home.dataDir)
  const queue = crawlQueue(station.owner, station.crawlId)
  try {
    let idleSince = performance.now()
    while (!station.stop.drain.aborted && performance.now() - idleSince < IDLE_MS) {
      if (await runNext(station, queue, pool, sequence)) {
        idleSince = performance.now()
        continue
      }
      station.tell({ type: 'idle' })
      await station.bell.wait(POLL_MS, station.stop.drain)
    }
  } finally {
    await pool.close()
    await sequence.close()
  }
}

async function runNext(
  station: WorkerStation,
  queue: ReturnType<typeof crawlQueue>,
  pool: WorkerPool,
  sequence: HookSequence,
): Promise<boolean> {
  const claim = await queue.next()
  if (!claim) return false
  await failpoint('claim.crawl_claimed')
  station.tell({ type: 'busy' })
  try {
    await endExpiredOwner(station.owner, claim.expiredOwner)
    await failpoint('claim.crawl_former_owner_ended')
    await withLease(station, queue, claim, (dropped) => runCrawl(station, queue, pool, sequence, claim, dropped))
  } catch (error) {
    await sequence.endBackground(AbortSignal.abort())
    // Its snapshots' workers see that the crawl is not ours any more when they claim next, and their own claims are theirs.
    if (error instanceof ClaimLost) station.log.warn(`claim lost: ${messageOf(error)}`)
    else {
      station.log.error(`crawl ${claim.id}: ${messageOf(error)}`)
      if (error instanceof Error) station.log.debug(error.stack ?? '')
      await queue.release(claim, Math.min(1_000 * 2 ** claim.attempts, 600_000), true)
      await failpoint('claim.crawl_given_back')
    }
  }
  station.tell({ type: 'progress' })
  return true
}
