import { inOrder } from './batch.ts'
import type { Retry } from './claim-statements.ts'
import { type Claimed, ClaimLost, type Held, type Moved } from './claimed.ts'
import {
  type AnyEventOf,
  type EventOf,
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

/** A claim and what becomes of it. */
export type Settled<M extends Machine> =
  | { [S in WorkState<M>]: { readonly claim: Claimed<M, S, unknown>; readonly outcome: Outcome<M, S> } }[WorkState<M>]
  | {
      readonly claim: Claimed<M, WorkState<M>, unknown>
      readonly outcome: EventOf<M, WorkState<M>> | Again | Failed | PutBack
    }

/** A claim and where it leads. */
export interface Stepped {
  readonly claim: Held
  readonly step: Step
  /** It was written before, and nobody knows whether that took effect. */
  readonly isAgain?: boolean
}

/** How the rows of a table move along the edges of its graph. Every method is one guarded statement. */
export class Transitions<M extends Machine, Row = Record<string, unknown>> {
  readonly machine: M
  readonly sql: Sql
  protected readonly retry: Retry
  readonly #statements = new Map<string, Statement>()

  constructor(machine: M, sql: Sql, retry: Retry = (work) => work(false)) {
    this.machine = machine
    this.sql = sql
    this.retry = retry
  }

  /**
   * Ends claims, each with its outcome, in one statement. Returns the ids that were ours; the others are lost, and
   * nothing was written to them. Throws ForeignOutcome, and writes nothing at all, when a state does not offer its
   * outcome.
   * @param by who does it, for the history
   */
  async settle(settled: readonly Settled<M>[], by: string | null = null): Promise<Set<string>> {
    const steps = settled.map(({ claim, outcome }) => ({ claim, step: stepOf(this.machine, claim, outcome) }))
    const lost = await this.apply(steps, by)
    return new Set(steps.map(({ claim }) => claim.id).filter((id) => !lost.has(id)))
  }

  /**
   * What `settle` does once it is known where each outcome leads. Returns the ids that are lost.
   * @param fields other columns of rows that all take the same step
   * @param where a condition on such a row, `work`: it is lost unless that holds
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
    const { from, to, event, afterSeconds, attempts } = step
    const [ids] = inOrder(steps, ({ claim }) => claim.id, [({ claim }) => claim.id])
    if (vanishesIn(this.machine, to)) {
      const statement = this.once('vanish alike', () => vanishAlikeStatement(this.machine))
      return await this.sql.query(statement, [ids, claim.token, from, to, event, by])
    }
    const names = Object.keys(fields ?? {})
    const statement = this.once(`settle alike ${names} ${where}`, () =>
      settleAlikeStatement(this.machine, names, where),
    )
    return await this.sql.query(statement, [
      ids,
      claim.token,
      from,
      to,
      event,
      afterSeconds,
      by,
      ...this.#counted(attempts),
      ...Object.values(fields ?? {}),
    ])
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
   * Moves a claimed row along one edge. Into a state in which rows are claimed the claim goes on; into any other it
   * ends. Throws ClaimLost when the row is not ours, or not in that state, any more.
   * @param fields other columns, which are written with the move; of a row that vanishes with it there are none
   * @param where of a move that ends the claim: a condition on the row, `work`, without which the row counts as lost
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
   * An event from outside, on rows that need not be claimed: whoever has claimed one, loses it.
   * @param dueAt when they are due in their new state, if that is not final; as the graph has it when not given
   * @returns the ids of those that were in a state that offers the event
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

  /** Moves rows along their timeouts, as far as nobody works on them: up to `limit` of each state. Returns how many. */
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

  /** Deletes rows whose time in a state with `deleteAfterMs` is over. Returns how many. */
  async deleteOld(limit = 1_000): Promise<number> {
    let deleted = 0
    for (const statement of deleteStatements(this.machine)) deleted += (await this.sql.query(statement, [limit])).length
    return deleted
  }

  /** Statements are written when they are first needed. */
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
