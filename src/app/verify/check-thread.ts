// One of the threads that read files: hashing keeps a core busy.
import { parentPort, workerData } from 'node:worker_threads'
import { nameSourceLines } from '../../base/start/source-lines.ts'
import type { RecordedPage } from '../../db/recorded-files.ts'
import { checkPage } from './check-page.ts'

const { dataDir, quick } = workerData as { readonly dataDir: string; readonly quick: boolean }

nameSourceLines()
parentPort?.on('message', (pages: readonly RecordedPage[]) => {
  parentPort?.postMessage(pages.map((page) => checkPage(dataDir, page, quick)))
})
