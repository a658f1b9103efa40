import { failpoint } from '../base/failpoint.ts'
import { ClaimLost } from '../engine/claimed.ts'
import { crawlQueue } from '../machines/queues.ts'
import { claimLoop } from './claim-loop.ts'
import { clearIfDeleted } from './deleted.ts'
import { HookSequence } from './hook-sequence.ts'
import { runCrawl } from './run-crawl.ts'
import { snapshotWorkers } from './sizes.ts'
import { WorkerPool } from './worker-pool.ts'
import type { WorkerProcessContext } from './worker-process.ts'

/** The CrawlWorker: claims crawls one after another, and supervises the SnapshotWorkers that archive their pages. */
export async function crawlWorker(context: WorkerProcessContext): Promise<void> {
  const { home } = context.owner
  const { slots } = context
  const { config } = context.settings
  const pool = new WorkerPool(context, {
    kind: 'snapshot',
    size: slots ? 0 : snapshotWorkers(config),
    cwd: home.dataDir,
  })
  slots?.watch((count) => {
    pool.resize(Math.min(count, config.MAX_SNAPSHOT_WORKERS ?? count), () =>
      context.tell({ type: 'slots released', count }),
    )
    context.bell.wake()
  })
  const sequence = new HookSequence(context, home.dataDir)
  const queue = crawlQueue(context.owner, context.scope)
  await claimLoop(context, {
    queue,
    tick: async (claim, abort) => {
      await failpoint('claim.crawl_claimed')
      await runCrawl(context, queue, pool, sequence, claim, abort)
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
