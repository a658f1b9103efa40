import { crawlWorker } from './crawl-worker.ts'
import { snapshotWorker } from './snapshot-worker.ts'

/** What a process started as `worker KIND` does. */
export async function worker(kind: string | undefined): Promise<void> {
  if (kind === 'crawl') return await crawlWorker()
  if (kind === 'snapshot') return await snapshotWorker()
  throw new Error(`unknown worker: ${kind}`)
}
