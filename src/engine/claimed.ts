import type { LiveState, Machine, WorkState } from './machine.ts'

declare const claimed: unique symbol

/** The right to work on one row. Only a `Queue` creates it, so a row that was not claimed cannot be written. */
export interface Claimed<M extends Machine, S extends LiveState<M> = WorkState<M>, Row = Record<string, unknown>> {
  readonly id: string
  readonly state: S
  readonly token: string
  /**
   * Claims in a row without a clean end, including this one: above 1, an earlier owner failed or died. 1 where the
   * table does not count.
   */
  readonly attempts: number
  /** The owner that let the lease expire, if any: it may be alive, and must be ended before the work begins again. */
  readonly expiredOwner: string | null
  /** The commit of this claim waited for the disk; else a power cut may undo it. */
  readonly isOnDisk: boolean
  /** The row as it was claimed. */
  readonly row: Row
  readonly [claimed]: M
}

/** A claim in any state in which rows are claimed; `state` tells which. */
export type AnyClaimed<M extends Machine, Row = Record<string, unknown>> = {
  [S in WorkState<M>]: Claimed<M, S, Row>
}[WorkState<M>]

/** A claim in any state of any graph. */
export type SomeClaim = Claimed<Machine, string, unknown>

/** The part of a claim that a guarded write needs. */
export type Held = Pick<Claimed<Machine>, 'id' | 'token'>

/** The claim after a change of state; none when rows in the new state are not worked on. */
export type Moved<M extends Machine, To, Row> = To extends WorkState<M> ? Claimed<M, To, Row> : undefined

/** A guarded write matched no row: the row has another owner by now. The owner drops it and writes nothing more. */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost'
}

/** The claim under `token` of a row as a statement of claims returns it. */
export function claimedFrom<M extends Machine, Row>(
  { columns: { id, status, attempts } }: M,
  { engine_was: _, engine_ended: __, engine_expired_owner: expiredOwner, ...row }: Record<string, unknown>,
  token: string,
  isOnDisk = false,
): AnyClaimed<M, Row> {
  const count = attempts ? Number(row[attempts]) : 1
  const claim = { id: String(row[id]), state: row[status], token, attempts: count, expiredOwner, isOnDisk, row }
  return claim as unknown as AnyClaimed<M, Row>
}
