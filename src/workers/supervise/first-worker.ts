import type { ActorPool } from '../../engine/actor-pool.ts'
import { BEGIN } from './lane-messages.ts'
import { closeWorkers } from './worker-pool.ts'

/**
 * The first snapshot worker of a crawl worker starts with it, so that it and its host are ready when the first crawl
 * is. Until then it holds: services of the crawl, such as a browser, may not be there yet.
 */
export class FirstWorker {
  readonly #pool: ActorPool
  #started: Promise<void> | undefined
  /** Whether a worker that starts now holds. */
  isHeld = false

  constructor(pool: ActorPool) {
    this.#pool = pool
  }

  /** Starts it, without waiting for it. */
  start(): void {
    this.isHeld = true
    this.#started = this.#pool.fill(1).catch(() => {}) // Workers are started again for what is due.
  }

  /** Lets it begin. */
  async begin(): Promise<void> {
    await this.#started
    if (this.isHeld) this.#pool.note(BEGIN)
    this.isHeld = false
  }

  /** Ends it, and all others. */
  async close(): Promise<void> {
    await this.#started
    await closeWorkers(this.#pool)
  }
}
