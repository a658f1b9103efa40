import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { asset } from '../../base/package-root.ts'
import type { RecordedPage } from '../../db/recorded-files.ts'
import type { Checked } from './check-page.ts'

/** One thread per core of the machine; they check pages until `signal` aborts. */
export class CheckPool {
  readonly #idle: Worker[] = []
  readonly #all: Worker[]
  readonly #waiting: ((worker: Worker) => void)[] = []

  readonly #signal: AbortSignal

  constructor(dataDir: string, quick: boolean, signal: AbortSignal) {
    this.#signal = signal
    const start = () =>
      new Worker(asset('check-thread.js', 'app/verify/check-thread.ts'), { workerData: { dataDir, quick } })
    this.#all = Array.from({ length: availableParallelism() }, start)
    this.#idle.push(...this.#all)
  }

  /** Waits for a free thread. Throws errors of the thread, and AbortError. */
  async check(pages: readonly RecordedPage[]): Promise<readonly Checked[]> {
    const worker = this.#idle.pop() ?? (await new Promise<Worker>((resolve) => this.#waiting.push(resolve)))
    try {
      const answer = once(worker, 'message', { signal: this.#signal }) as Promise<[readonly Checked[]]>
      worker.postMessage(pages)
      return (await answer)[0]
    } finally {
      const next = this.#waiting.shift()
      if (next) next(worker)
      else this.#idle.push(worker)
    }
  }

  get size(): number {
    return this.#all.length
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker.terminate()))
  }
}
