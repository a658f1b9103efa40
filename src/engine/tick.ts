import { ClaimLost, type SomeClaim } from './claimed.ts'
import type { Context } from './handlers.ts'
import type { Sql } from './sql.ts'

/** A handler took longer than its deadline. What it answers later is dropped. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded'
}

/**
 * How a tick ended: its outcome, its failure or its return was written; or nothing was, because the row is not ours any
 * more.
 */
export type TickEnd =
  | { readonly how: 'settled' | 'putBack' | 'lost' }
  | { readonly how: 'failed'; readonly error: Error }

/** What an executor knows of a tick from the start. */
export interface TickOptions {
  readonly sql: Sql
  readonly log: ((line: string) => void) | undefined
  readonly deadlineMs: number
  /** Until when the lease surely holds, on the monotonic clock. */
  readonly trustedUntil: number
  readonly done: ((end: TickEnd) => void) | undefined
  /** Told at each sign of progress how long the work may go on without another. */
  readonly onProgress?: ((forMs: number) => void) | undefined
}

/**
 * One handler run of one claimed row: what the handler is given as its context, and what its executor knows about it.
 */
export class Tick implements Context {
  claim: SomeClaim
  readonly sql: Sql
  readonly log?: (line: string) => void
  /** On the monotonic clock: when the handler has to be done, and until when the lease surely holds. */
  deadlineAt: number
  trustedUntil: number
  readonly done: ((end: TickEnd) => void) | undefined
  readonly #deadlineMs: number
  readonly #onProgress: ((forMs: number) => void) | undefined
  #controller: AbortController | undefined
  /** Why it was stopped, if it was. */
  stopped: Error | undefined

  constructor(claim: SomeClaim, options: TickOptions) {
    this.claim = claim
    this.sql = options.sql
    this.#deadlineMs = options.deadlineMs
    this.deadlineAt = performance.now() + options.deadlineMs
    this.trustedUntil = options.trustedUntil
    this.done = options.done
    this.#onProgress = options.onProgress
    if (options.log) this.log = options.log
  }

  /** Made when it is first asked for: most handlers are too short to need one. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.stopped) this.#controller.abort(this.stopped)
    return this.#controller.signal
  }

  /** Nothing more is written under its claim. */
  get isLost(): boolean {
    return this.stopped instanceof ClaimLost
  }

  progress(withinMs = 0): void {
    const forMs = withinMs + this.#deadlineMs
    this.deadlineAt = performance.now() + forMs
    this.#onProgress?.(forMs)
  }

  holds({ state }: { readonly state: string }): void {
    this.claim = { ...this.claim, state }
  }

  stop(reason: Error): void {
    this.stopped = reason
    this.#controller?.abort(reason)
  }
}
