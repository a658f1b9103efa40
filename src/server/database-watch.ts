import type { Archive } from '../app/archive.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'

/** Brings the database back, or waits for it, once it was found away; until then requests are refused at once. */
export class DatabaseWatch {
  readonly #archive: Archive
  readonly #log: Log
  readonly #stop: AbortSignal
  #isWaiting = false

  constructor(archive: Archive, log: Log, stop: AbortSignal) {
    this.#archive = archive
    this.#log = log
    this.#stop = stop
  }

  /** It was found away. */
  isAway(): void {
    if (this.#isWaiting || this.#stop.aborted) return
    this.#isWaiting = true
    this.#archive
      .untilBack(this.#stop)
      .catch((error: unknown) => this.#log.warn(`the database stays unavailable: ${messageOf(error)}`))
      .finally(() => {
        this.#isWaiting = false
      })
      .catch(() => {})
  }
}
