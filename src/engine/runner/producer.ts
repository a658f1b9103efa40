import { elapsed } from '../../base/elapsed.ts'
import { asError } from '../as-error.ts'
import type { QueueOptions } from '../claim-statements.ts'
import { Counts } from '../counts.ts'
import { Executor } from '../executor.ts'
import type { OnError } from '../executor-options.ts'
import type { Model } from '../handlers.ts'
import type { Machine } from '../machine.ts'
import type { Step } from '../outcome.ts'
import { Queue } from '../queue.ts'
import type { Sql } from '../sql.ts'
import { Pace } from './pace.ts'

/** With this many slots, each claim fills half of them. */
const MANY = 64

/** A model in a runner. */
export interface ModelOptions {
  /** The result of `withHandlers`. */
  readonly handlers: Model
  /** Concurrent handlers; by default all of the runner's, less one for each other model. */
  readonly concurrency?: number
  /** Restricts the queue. */
  readonly queue?: QueueOptions
  /** The values of the queue's `where` and `fence`, asked for with each claim. */
  readonly values?: () => readonly unknown[]
  /** Seconds that a claim holds without renewal; it is renewed three times per lease. */
  readonly leaseSeconds?: number
  /** A row stays claimed until its handler has returned, even after it was stopped: for handlers that own processes. */
  readonly waitForHandlers?: boolean
}

/** What models share. */
export interface Shared {
  /** `engineSql`: for the engine's statements; `sql`: for handlers. */
  readonly engineSql: Sql
  readonly sql: Sql
  readonly owner: string
  readonly by: string | null
  readonly deadlineMs: number
  readonly log: ((line: string) => void) | undefined
  readonly onError: OnError
  /** There may be rows to claim, or free slots for them. */
  readonly onNews: () => void
  /** Handlers are about to start. */
  readonly onWork: () => void
}

/** The intake of one model: claims due rows into free slots and passes them to its executor. */
export class Producer {
  readonly machine: Machine
  readonly queue: Queue<Machine, unknown>
  readonly executor: Executor
  readonly counts = new Counts()
  readonly leaseSeconds: number
  readonly #options: ModelOptions
  readonly #shared: Shared
  readonly #concurrency: number
  readonly #pace = new Pace()
  /** Claims in progress, and the rows that they may return. */
  #claims = 0
  #asked = 0
  /** The queue seems long: two claims may be in progress at once. */
  #isLong = false
  #isNews = false

  constructor(options: ModelOptions, concurrency: number, shared: Shared) {
    this.#options = options
    this.#shared = shared
    this.#concurrency = options.concurrency ?? concurrency
    this.machine = options.handlers.machine
    this.leaseSeconds = options.leaseSeconds ?? this.machine.leaseSeconds
    this.queue = new Queue(this.machine, shared.engineSql, options.queue)
    const { sql, by, deadlineMs, log, onError } = shared
    this.executor = new Executor({
      ...{ model: options.handlers, queue: this.queue, leaseSeconds: this.leaseSeconds, counts: this.counts },
      ...{ sql, by, deadlineMs, log, onError, waitForHandlers: options.waitForHandlers },
      onSlotsFree: (first) => this.#slotsFree(first),
    })
  }

  /** Used slots: running handlers and requested rows. */
  get used(): number {
    return this.executor.running + this.#asked
  }

  /** Nothing is held or requested. */
  get isIdle(): boolean {
    return this.used === 0 && this.executor.unsettled === 0
  }

  /**
   * How many rows it may claim: none while outcomes pile up because of a slow database. With many slots, one half is
   * claimed while the other is at work; few are claimed together.
   */
  get claimable(): number {
    if (this.executor.unsettled >= 2 * this.#concurrency) return 0
    return Math.min(
      this.#concurrency - this.used,
      this.#concurrency < MANY ? this.#concurrency : Math.ceil(this.#concurrency / 2),
    )
  }

  /** Milliseconds until it wants to claim; Infinity while it cannot. */
  get waitMs(): number {
    return this.#claims > (this.#isLong ? 1 : 0) || this.claimable < 1 ? Number.POSITIVE_INFINITY : this.#pace.waitMs
  }

  /** Somebody reports new work. */
  news(): void {
    this.#isNews = true
    this.#pace.soon()
    this.#shared.onNews()
  }

  /**
   * Claims up to `limit` rows and starts their handlers; releases them if `signal` has aborted meanwhile. Never throws.
   * @returns how many
   */
  async claim(limit: number, signal?: AbortSignal): Promise<number> {
    this.#claims += 1
    this.#asked += limit
    this.#isNews = false
    const askedAt = elapsed()
    let found = 0
    try {
      const values = this.#options.values?.()
      const claims = await this.queue.claim({
        ...{ limit, leaseSeconds: this.leaseSeconds, owner: this.#shared.owner },
        ...(values ? { values } : {}),
      })
      found = claims.length
      this.counts.claimed += found
      if (found > 0) this.#shared.onWork()
      for (const claim of claims) {
        if (signal?.aborted) this.executor.putBack(claim, askedAt)
        else this.executor.start(claim, askedAt)
      }
    } catch (error) {
      this.#shared.onError(asError(error))
    }
    this.#claims -= 1
    this.#asked -= limit
    this.#isLong = found > limit / 2
    if (found > 0) this.#pace.found()
    else this.#pace.foundNothing()
    if (this.#isNews) this.#pace.soon()
    this.#shared.onNews()
    return found
  }

  #slotsFree(first: Step | undefined): void {
    if (first?.afterSeconds != null && first.afterSeconds < 60) this.#pace.soon(first.afterSeconds * 1000)
    this.#shared.onNews()
  }
}
