import type { SomeClaim } from './claimed.ts'
import type { Context } from './handlers.ts'
import type { Sql } from './sql.ts'

/** A handler took longer than its deadline. Its row was given back; what it answers later is dropped. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded'
}

/** How a tick ended: its outcome, its failure or its return was written; or nothing was, because the row is not ours any more. */
export type TickEnd =
  | { readonly how: 'settled' | 'putBack' | 'lost' }
  | { readonly how: 'failed'; readonly error: Error }

/** One handler run of one claimed row: what the handler is given as its context, and what its executor knows about it. */
export class Tick implements Context {
  readonly claim: SomeClaim
  readonly sql: Sql
  readonly log?: (line: string) => void
  /** On the monotonic clock: when the handler has to be done, and until when the lease surely holds. */
  readonly deadlineAt: number
  trustedUntil: number
  readonly done: ((end: TickEnd) => void) | undefined
  #controller: AbortController | undefined
  #stopped: Error | undefined

  constructor(
    claim: SomeClaim,
    known: Pick<Tick, 'sql' | 'deadlineAt' | 'trustedUntil' | 'done'> & {
      readonly log: ((line: string) => void) | undefined
    },
  ) {
    this.claim = claim
    this.sql = known.sql
    this.deadlineAt = known.deadlineAt
    this.trustedUntil = known.trustedUntil
    this.done = known.done
    if (known.log) this.log = known.log
  }

  /** Made when it is first asked for: most handlers are too short to need one. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#stopped) this.#controller.abort(this.#stopped)
    return this.#controller.signal
  }

  stop(reason: Error): void {
    this.#stopped = reason
    this.#controller?.abort(reason)
  }
}
