import type { LiveState, Machine, WorkState } from './machine.ts'

declare const claimed: unique symbol

/** The right to work on one row. Only a `Queue` mints one, so a row that was not claimed cannot be written. */
export interface Claimed<M extends Machine, S extends LiveState<M> = WorkState<M>, Row = Record<string, unknown>> {
  readonly id: string
  readonly state: S
  readonly token: string
  /**
   * Claims of this row in a row that had no clean end, this one included: above 1, an earlier owner failed or died at
   * it. 1 where the table does not count.
   */
  readonly attempts: number
  /** Who let the lease run out, if anybody: it may still be alive, and must be ended before the work begins again. */
  readonly expiredOwner: string | null
  /** The row as it was claimed. */
  readonly row: Row
  readonly [claimed]: M
}

/** A claim in any of the states in which rows are claimed: looking at `state` tells which. */
export type AnyClaimed<M extends Machine, Row = Record<string, unknown>> = {
  [S in WorkState<M>]: Claimed<M, S, Row>
}[WorkState<M>]

/** A claim in any state of any graph, for whoever does not need to know. */
export type SomeClaim = Claimed<Machine, string, unknown>

/** What a guarded write needs to know of a claim. */
export type Held = Pick<Claimed<Machine>, 'id' | 'token'>

/** The claim after a change of state: in the new state; none when nobody works on rows in that state. */
export type Moved<M extends Machine, To, Row> = To extends WorkState<M> ? Claimed<M, To, Row> : undefined

/** Zero rows matched a guarded write: somebody else owns the row by now. The owner drops it and writes nothing more. */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost'
}
