import { workerProcess } from './supervise/worker-process.ts'

/** What a process started as `worker KIND` does. Its code loads while the database opens the first connection. */
export async function worker(kind: string | undefined): Promise<void> {
  if (kind === 'crawl')
    return await workerProcess(kind, async () => (await import('./crawl/crawl-worker.ts')).crawlWorker)
  if (kind === 'snapshot')
    return await workerProcess(kind, async () => (await import('./page/snapshot-worker.ts')).snapshotWorker)
  throw new Error(`unknown worker: ${kind}`)
}
