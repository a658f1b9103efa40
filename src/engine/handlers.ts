import type { ClaimOptions } from './claim-statements.ts'
import type { AnyClaimed, Claimed, ClaimLost, Held } from './claimed.ts'
import { GraphError, type LiveState, type Machine, type WorkState, workStates } from './machine.ts'
import type { Ended, Failed, Outcome, PutBack } from './outcome.ts'
import type { Sql } from './sql.ts'

/** What a handler gets besides its row. */
export interface Context {
  /**
   * Aborts when the work must stop: at its deadline, when the lease is lost, or when the process must end now. The
   * reason tells which.
   */
  readonly signal: AbortSignal
  /** The runner's database, for what the handler reads or writes elsewhere. */
  readonly sql: Sql
  readonly log?: (line: string) => void
  /** Reports progress; the next step may take `withinMs`, and the deadline counts from the end of that. */
  progress(withinMs?: number): void
  /**
   * Reports that the handler moved its row to another state (`queue.move`) where its claim continues: the answer is
   * taken from that state.
   */
  holds(claim: Held & { readonly state: string }): void
  /** Reports that the handler has found its claim lost, while it works: its signal aborts. */
  lost(why: ClaimLost): void
  /**
   * Of an actor that waits for its handlers: how to claim its next row, for a handler that does so with the end of its
   * claim (`queue.moveAndClaim`) and answers `new Ended(claim)`. Undefined when no row is to be claimed.
   */
  next?(): ClaimOptions | undefined
}

/**
 * The answer of a handler: an event of its state, or `again()`, which is the default; `failed(ms)` and `putBack(ms)`
 * release the row for that time and tell whether the attempt counts; `ENDED`, or `new Ended(next)`: it has ended its
 * claim itself; `RELEASED`: it has released its row itself, in an unchanged state.
 */
export type Answer<M extends Machine, S extends LiveState<M>> =
  | Outcome<M, S>
  | Failed
  | PutBack
  | Ended
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: an async handler that returns nothing has this type
  | void

/**
 * The work on a row in one state: an async function. (A synchronous one works but is not in the type: with it
 * TypeScript would widen the lone `return 'finish'` of an async one to `string`, and refuse it.)
 */
export type Handler<M extends Machine, S extends WorkState<M>, Row = Record<string, unknown>> = (
  claim: Claimed<M, S, Row>,
  context: Context,
) => Promise<Answer<M, S>>

export type Handlers<M extends Machine, Row = Record<string, unknown>> = {
  readonly [S in WorkState<M>]: Handler<M, S, Row>
}

/** A handler of any state of any graph. */
export type AnyHandler = (claim: never, context: Context) => unknown

/** A graph with the work for each of its states. */
export interface Model {
  readonly machine: Machine
  /** Runs the handler of one claimed row. */
  readonly tick: AnyHandler
  /**
   * Runs instead of the handler for a row that was claimed too often in vain. When it returns nothing, the row moves
   * along its state's `giveUp`; if this also fails as often as the state allows, the row moves without it.
   */
  readonly giveUp?: AnyHandler
}

export interface Handled<M extends Machine, Row = Record<string, unknown>> extends Model {
  readonly machine: M
  readonly handlers: Handlers<M, Row>
}

/**
 * Assigns a handler to each state in which rows are claimed. Throws GraphError, naming graph and state, for a state
 * without a handler or without a `retryAfterMs` above 0, and for a handler of a final, external or unknown state.
 * @param giveUp runs for a row that was claimed too often in vain, before it moves along its state's `giveUp`; it may
 *   fail `giveUp.after` times, then the row moves without it
 */
export function withHandlers<M extends Machine, Row = Record<string, unknown>>(
  machine: M,
  handlers: Handlers<M, Row>,
  giveUp?: (claim: AnyClaimed<M, Row>, context: Context) => Promise<Answer<M, WorkState<M>>>,
): Handled<M, Row> {
  const byState = handlers as unknown as Readonly<
    Record<string, (claim: Claimed<Machine>, context: Context) => unknown>
  >
  const fail = (state: string, what: string): never => {
    throw new GraphError(machine, `state "${state}" ${what}`)
  }
  for (const state of workStates(machine)) {
    if (typeof byState[state] !== 'function') fail(state, 'has no handler')
    if (!((machine.states[state]!.retryAfterMs ?? 0) > 0))
      fail(state, 'has a handler, but no retryAfterMs above 0 to come back after')
  }
  for (const state of Object.keys(handlers)) {
    const def = Object.hasOwn(machine.states, state)
      ? machine.states[state]!
      : fail(state, 'has a handler, but is not one of its states')
    if (def.final) fail(state, 'is final and has a handler')
    if (def.external) fail(state, 'is external and has a handler')
  }
  const tick = (claim: Claimed<Machine>, context: Context) => byState[claim.state]!(claim, context)
  return { machine, handlers, tick, ...(giveUp ? { giveUp: giveUp as AnyHandler } : {}) }
}
