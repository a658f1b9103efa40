import { failpoint } from '../base/failpoint.ts'
import { ClaimLost } from '../engine/claimed.ts'
import { crawlQueue } from '../machines/queues.ts'
import { claimLoop } from './claim-loop.ts'
import { clearIfDeleted } from './deleted.ts'
import { HookSequence } from './hook-sequence.ts'
import { runCrawl } from './run-crawl.ts'
import { snapshotWorkers } from './sizes.ts'
import { WorkerPool } from './worker-pool.ts'
import type { WorkerStation } from './worker-process.ts'

/** The CrawlWorker: claims crawls one after another, and supervises the SnapshotWorkers that archive their pages. */
export async function crawlWorker(station: WorkerStation): Promise<void> {
  const { home } = station.owner
  const { places } = station
  const { config } = station.settings
  const pool = new WorkerPool(station, {
    kind: 'snapshot',
    size: places ? 0 : snapshotWorkers(config),
    cwd: home.dataDir,
  })
  places?.watch((count) => {
    pool.resize(Math.min(count, config.MAX_SNAPSHOT_WORKERS ?? count), () => station.tell({ type: 'gave up', count }))
    station.bell.wake()
  })
  const sequence = new HookSequence(station, home.dataDir)
  const queue = crawlQueue(station.owner, station.scope)
  await claimLoop(station, {
    queue,
    tick: async (claim, dropped) => {
      await failpoint('claim.crawl_claimed')
      await runCrawl(station, queue, pool, sequence, claim, dropped)
    },
    // Its snapshots' workers see that a lost crawl is not ours any more when they claim next, and their own claims are theirs.
    onTickException: async (claim, error) => {
      await sequence.endBackground(AbortSignal.abort())
      if (error instanceof ClaimLost) await clearIfDeleted(home, 'crawl', claim.row)
    },
    onShutdown: async () => {
      await pool.close()
      await sequence.close()
    },
  })
}
