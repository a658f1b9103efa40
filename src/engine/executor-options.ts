import type { SomeClaim } from './claimed.ts'
import type { Counts } from './counts.ts'
import type { Context, Model } from './handlers.ts'
import type { Machine } from './machine.ts'
import type { Step } from './outcome.ts'
import type { Queue } from './queue.ts'
import type { Sql } from './sql.ts'

/** Reports an error, and the row concerned, if any. */
export type OnError = (error: Error, claim?: SomeClaim) => void

export interface ExecutorOptions {
  readonly model: Model
  readonly queue: Queue<Machine, unknown>
  /** Passed to handlers. */
  readonly sql: Sql
  readonly log?: ((line: string) => void) | undefined
  readonly leaseSeconds: number
  readonly deadlineMs: number
  /**
   * A tick ends only when its handler has returned: the row stays claimed until then, even after its signal has
   * aborted. For handlers that own processes.
   */
  readonly waitForHandlers?: boolean | undefined
  /** Called at a handler's start and at each progress with how long it may go on until the next. */
  readonly onProgress?: ((forMs: number) => void) | undefined
  /** How to claim the next row together with the end of this one, if that is wanted. */
  readonly next?: Context['next']
  readonly by: string | null
  readonly counts: Counts
  readonly onError: OnError
  /** Something ended, so slots may be free. `first`: the step after which a row of ours is due again first. */
  readonly onSlotsFree: (first?: Step) => void
}
