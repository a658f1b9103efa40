import { inOrder } from './batch.ts'
import type { Retry } from './claim-statements.ts'
import { type Claimed, ClaimLost, type Held, type Moved } from './claimed.ts'
import {
  type AnyEventOf,
  type EventOf,
  GraphError,
  type Machine,
  type State,
  type Target,
  vanishesIn,
  type WorkState,
} from './machine.ts'
import { type Again, type Failed, type Outcome, type PutBack, type Step, stepOf } from './outcome.ts'
import type { Sql, Statement } from './sql.ts'
import {
  deleteStatements,
  externalStatement,
  keepStatement,
  movedStatement,
  settleAlikeStatement,
  settleStatement,
  timeoutStatement,
  vanishAlikeStatement,
} from './transition-statements.ts'

/** A claim and its outcome. */
export type Settled<M extends Machine> =
  | { [S in WorkState<M>]: { readonly claim: Claimed<M, S, unknown>; readonly outcome: Outcome<M, S> } }[WorkState<M>]
  | {
      readonly claim: Claimed<M, WorkState<M>, unknown>
      readonly outcome: EventOf<M, WorkState<M>> | Again | Failed | PutBack
    }

/** A claim and the step it takes. */
export interface Stepped {
  readonly claim: Held
  readonly step: Step
  /** It was written before, and whether that took effect is unknown. */
  readonly isAgain?: boolean
}

/** Moves the rows of a table along the edges of its graph. Every method is one guarded statement. */
export class Transitions<M extends Machine, Row = Record<string, unknown>> {
  readonly machine: M
  readonly sql: Sql
  protected readonly retry: Retry
  readonly #statements = new Map<string, Statement>()

  constructor(machine: M, sql: Sql, retry: Retry = (work) => work(false)) {
    if (machine.heldBy !== undefined)
      throw new GraphError(machine, `its rows are held by ${machine.heldBy}, not claimed`)
    this.machine = machine
    this.sql = sql
    this.retry = retry
  }

  /**
   * Ends claims, each with its outcome, in one statement. Throws ForeignOutcome, and writes nothing, when a state does
   * not offer its outcome.
   * @param by the author, for the history
   * @returns the ids that were ours; the others are lost, and nothing was written to them
   */
  async settle(settled: readonly Settled<M>[], by: string | null = null): Promise<Set<string>> {
    const steps = settled.map(({ claim, outcome }) => ({ claim, step: stepOf(this.machine, claim, outcome) }))
    const lost = await this.apply(steps, by)
    return new Set(steps.map(({ claim }) => claim.id).filter((id) => !lost.has(id)))
  }

  /**
   * The second half of `settle`, when the steps are known.
   * @param fields other columns, for rows that all take the same step
   * @param where an additional condition on such a row, `work`, which is lost unless it holds
   * @returns the ids that are lost
   */
  async apply(
    steps: readonly Stepped[],
    by: string | null = null,
    fields?: Readonly<Partial<Row>>,
    where?: string,
  ): Promise<Set<string>> {
    const first = steps[0]
    if (!first) return new Set()
    return await this.retry(async (isAgain) => {
      const rows = steps.every((one) => isAlike(one, first))
        ? await this.#applyAlike(steps, first, by, fields, where)
        : await this.#applyEach(steps, by)
      const lost = new Set(rows.map(({ id }) => id))
      if (lost.size === 0) return lost
      const unsure = steps.filter((one) => lost.has(one.claim.id) && (isAgain || one.isAgain))
      for (const id of await this.#moved(unsure)) lost.delete(id)
      return lost
    })
  }

  /** Did a move under this claim, whose answer was lost, take effect? Needs the column `movedBy`. */
  async hasMoved(claim: Held, to: State<M>): Promise<boolean> {
    return (await this.#moved([{ claim, step: { to } }])).length > 0
  }

  async #moved(
    steps: readonly { readonly claim: Held; readonly step: { readonly to: string } }[],
  ): Promise<readonly string[]> {
    if (steps.length === 0 || this.machine.columns.movedBy === undefined) return []
    const statement = this.once('moved', () => movedStatement(this.machine))
    const values = [
      steps.map(({ claim }) => claim.id),
      steps.map(({ claim }) => claim.token),
      steps.map(({ step }) => step.to),
    ]
    return (await this.sql.query<{ id: string }>(statement, values)).map(({ id }) => id)
  }

  async #applyAlike(
    steps: readonly Stepped[],
    { claim, step }: Stepped,
    by: string | null,
    fields?: Readonly<Partial<Row>>,
    where?: string,
  ): Promise<{ id: string }[]> {
    const { from, to, event } = step
    const [ids] = inOrder(steps, ({ claim }) => claim.id, [({ claim }) => claim.id])
    if (vanishesIn(this.machine, to)) {
      const statement = this.once('vanish alike', () => vanishAlikeStatement(this.machine))
      return await this.sql.query(statement, [ids, claim.token, from, to, event, by])
    }
    const names = Object.keys(fields ?? {})
    const statement = this.once(`settle alike ${names} ${where}`, () =>
      settleAlikeStatement(this.machine, names, where),
    )
    return await this.sql.query(statement, this.alikeValues(ids, { claim, step }, by, fields))
  }

  /** The parameters of `settleAlikeStatement`. */
  protected alikeValues(
    ids: readonly unknown[],
    { claim, step: { from, to, event, afterSeconds, attempts } }: Stepped,
    by: string | null,
    fields?: Readonly<Partial<Row>>,
  ): unknown[] {
    return [
      ids,
      claim.token,
      from,
      to,
      event,
      afterSeconds,
      by,
      ...this.#counted(attempts),
      ...Object.values(fields ?? {}),
    ]
  }

  async #applyEach(steps: readonly Stepped[], by: string | null): Promise<{ id: string }[]> {
    const [ids, tokens, from, to, events, afterSeconds, attempts] = inOrder(steps, ({ claim }) => claim.id, [
      ({ claim }) => claim.id,
      ({ claim }) => claim.token,
      ({ step }) => step.from,
      ({ step }) => step.to,
      ({ step }) => step.event,
      ({ step }) => step.afterSeconds,
      ({ step }) => step.attempts,
    ])
    const statement = this.once('settle', () => settleStatement(this.machine))
    return await this.sql.query(statement, [
      ids,
      tokens,
      from,
      to,
      events,
      afterSeconds,
      by,
      ...this.#counted(attempts),
    ])
  }

  /** The last parameter, for tables that count attempts. */
  #counted<T>(attempts: T): T[] {
    return this.machine.columns.attempts === undefined ? [] : [attempts]
  }

  /**
   * Moves a claimed row along one edge. The claim continues in a state in which rows are claimed, and ends in any
   * other. Throws ClaimLost when the row is no longer ours or in that state.
   * @param fields other columns to write with the move; none for a row that is deleted by it
   * @param where for a move that ends the claim: an additional condition on the row, `work`, which is lost unless it
   *   holds
   */
  async move<S extends WorkState<M>, const E extends EventOf<M, S>>(
    claim: Claimed<M, S, Row>,
    event: E,
    by: string | null = null,
    fields?: Readonly<Partial<Row>>,
    where?: string,
  ): Promise<Moved<M, Target<M, S, E>, Row>> {
    const step = stepOf(this.machine, claim, event)
    const { final, external } = this.machine.states[step.to]!
    const ends = final || external
    const isLost = ends
      ? (await this.apply([{ claim, step }], by, fields, where)).size > 0
      : !(await this.#keep(claim, step, by, fields))
    if (isLost) throw new ClaimLost(`${this.machine.name} ${claim.id}: ${claim.state} -${event}-> ${step.to}`)
    return (ends ? undefined : { ...claim, state: step.to }) as Moved<M, Target<M, S, E>, Row>
  }

  async #keep(
    claim: Held,
    { from, to, event }: Step,
    by: string | null,
    fields?: Readonly<Partial<Row>>,
  ): Promise<boolean> {
    const names = Object.keys(fields ?? {})
    const statement = this.once(`keep ${names}`, () => keepStatement(this.machine, names))
    const values = [claim.id, claim.token, from, to, event, by, ...Object.values(fields ?? {})]
    return await this.retry(async (isAgain) => {
      const rows = await this.sql.query(statement, values)
      return rows.length === 1 || (isAgain && (await this.hasMoved(claim, to as State<M>)))
    })
  }

  /**
   * Sends an event from outside to rows that need not be claimed: whoever holds one loses the claim.
   * @param dueAt when they are due in their new state, if that is not final; by default as the graph says
   * @returns the ids of those in a state that offers the event
   */
  async send(
    ids: readonly string[],
    event: AnyEventOf<M>,
    dueAt?: Date | null,
    by: string | null = null,
  ): Promise<string[]> {
    const statement = externalStatement(this.machine, event, dueAt !== undefined)
    if (!statement) throw new TypeError(`state graph "${this.machine.name}": no state offers the event "${event}"`)
    const values = [ids, by, ...(dueAt !== undefined ? [dueAt] : [])]
    return (await this.sql.query<{ id: string }>(statement, values)).map(({ id }) => id)
  }

  /** Moves unclaimed rows along their timeouts, up to `limit` per state. @returns how many */
  async expire(limit = 1_000, by: string | null = null): Promise<number> {
    let moved = 0
    for (const state of Object.keys(this.machine.states) as State<M>[])
      moved += await this.expireState(state, limit, by)
    return moved
  }

  /** The same for one state. */
  async expireState(state: State<M>, limit: number, by: string | null = null): Promise<number> {
    const statement = timeoutStatement(this.machine, state)
    return statement ? (await this.sql.query(statement, [limit, by])).length : 0
  }

  /** Deletes rows whose time in a state with `deleteAfterMs` is over. @returns how many */
  async deleteOld(limit = 1_000): Promise<number> {
    let deleted = 0
    for (const statement of deleteStatements(this.machine)) deleted += (await this.sql.query(statement, [limit])).length
    return deleted
  }

  /** Statements are built on first use. */
  protected once(verb: string, write: () => Statement): Statement {
    const statement = this.#statements.get(verb) ?? write()
    this.#statements.set(verb, statement)
    return statement
  }
}

/** Rows of one claim that take the same step. */
export const isAlike = ({ claim, step: a }: Stepped, { claim: other, step: b }: Stepped) =>
  claim.token === other.token &&
  a.from === b.from &&
  a.to === b.to &&
  a.event === b.event &&
  a.afterSeconds === b.afterSeconds &&
  a.attempts === b.attempts
