import type { AnyClaimed, Claimed, Held } from './claimed.ts'
import { GraphError, type LiveState, type Machine, type WorkState, workStates } from './machine.ts'
import type { Ended, Failed, Outcome, PutBack } from './outcome.ts'
import type { Sql } from './sql.ts'

/** What a handler is given besides its row. */
export interface Context {
  /**
   * Aborts when the work is to stop: at its deadline, when the lease is lost, when the process must end now. The reason
   * says which.
   */
  readonly signal: AbortSignal
  /** The runner's way to the database, for what the handler reads or writes elsewhere. */
  readonly sql: Sql
  readonly log?: (line: string) => void
  /** The work got somewhere, and its next step may take `withinMs`: its deadline counts from the end of that. */
  progress(withinMs?: number): void
  /**
   * The handler moved its row to another state (`queue.move`), and its claim goes on there: what it answers counts from
   * there.
   */
  holds(claim: Held & { readonly state: string }): void
}

/**
 * What a handler answers: an event that its state offers, `again()`, or nothing, which is `again()`; `failed(ms)` and
 * `putBack(ms)` say for how long, and whether the attempt counts; ENDED, that it has ended its claim itself.
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
 * What is done with a row in one state: an async function. (One that answers at once works, too, but is not in the
 * type: beside it TypeScript widens the lone `return 'finish'` of an async one to `string`, and refuses it.)
 */
export type Handler<M extends Machine, S extends WorkState<M>, Row = Record<string, unknown>> = (
  claim: Claimed<M, S, Row>,
  context: Context,
) => Promise<Answer<M, S>>

export type Handlers<M extends Machine, Row = Record<string, unknown>> = {
  readonly [S in WorkState<M>]: Handler<M, S, Row>
}

/** Does something with a claimed row, whatever its state is. */
export type Work = (claim: never, context: Context) => unknown

/** A graph with the work that each of its states asks for. */
export interface Model {
  readonly machine: Machine
  /** One handler run of one claimed row. */
  readonly tick: Work
  /**
   * What is done, in place of the handler, with a row that was claimed too often in vain. When it answers nothing, the
   * row moves along its state's `giveUp`.
   */
  readonly giveUp?: Work
}

export interface Handled<M extends Machine, Row = Record<string, unknown>> extends Model {
  readonly machine: M
  readonly handlers: Handlers<M, Row>
}

/**
 * Gives each state in which rows are claimed its handler. Throws GraphError, which names graph and state, for a state
 * without handler or without a `retryAfterMs` above 0, and for a handler of a final, an external or an unknown state.
 * @param giveUp what is done with a row of which each claim came to nothing, before it moves along its state's `giveUp`
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
  return { machine, handlers, tick, ...(giveUp ? { giveUp: giveUp as Work } : {}) }
}
