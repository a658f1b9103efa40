import { ClaimLost, type SomeClaim } from './claimed.ts'
import type { Context } from './handlers.ts'
import type { Sql } from './sql.ts'

/** A handler exceeded its deadline. Its later answer is dropped. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded'
}

/**
 * How a tick ended: its outcome, its failure or its release was written; or nothing, because the row is no longer ours.
 */
export type TickEnd =
  | { readonly how: 'settled' | 'putBack'; readonly next?: SomeClaim | undefined }
  | { readonly how: 'lost' }
  | { readonly how: 'failed'; readonly error: Error }

/** What an executor knows about a tick at its start. */
export interface TickOptions {
  readonly sql: Sql
  readonly log: ((line: string) => void) | undefined
  readonly deadlineMs: number
  /** Until when the lease certainly holds, by `elapsed`. */
  readonly trustedUntil: number
  readonly done: ((end: TickEnd) => void) | undefined
  readonly next?: Context['next']
  /** Called at each progress with how long the work may go on until the next. */
  readonly onProgress?: ((forMs: number) => void) | undefined
}

/** One handler run of one claimed row: the handler's context, and the executor's record of it. */
export class Tick implements Context {
  claim: SomeClaim
  readonly sql: Sql
  readonly log?: (line: string) => void
  /** The handler's deadline, by the monotonic clock, and until when the lease certainly holds, by `elapsed`. */
  deadlineAt: number
  trustedUntil: number
  readonly done: ((end: TickEnd) => void) | undefined
  readonly next?: NonNullable<Context['next']>
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
    if (options.next) this.next = options.next
  }

  /** Created on first use: most handlers are too short to need one. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.stopped) this.#controller.abort(this.stopped)
    return this.#controller.signal
  }

  /** Nothing more may be written under its claim. */
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

  lost(why: ClaimLost): void {
    this.stop(why)
  }

  stop(reason: Error): void {
    this.stopped = reason
    this.#controller?.abort(reason)
  }
}
