import { type Claimed, ClaimLost, type Held, type Moved } from './claimed.ts'
import type { AnyEventOf, EventOf, Machine, State, Target, WorkState } from './machine.ts'
import { type Again, type Failed, type Outcome, type PutBack, type Step, stepOf } from './outcome.ts'
import { Steps } from './steps.ts'
import { deleteStatements, externalStatement, keepStatement, timeoutStatement } from './transition-statements.ts'

/** A claim and its outcome. */
export type Settled<M extends Machine> =
  | { [S in WorkState<M>]: { readonly claim: Claimed<M, S, unknown>; readonly outcome: Outcome<M, S> } }[WorkState<M>]
  | {
      readonly claim: Claimed<M, WorkState<M>, unknown>
      readonly outcome: EventOf<M, WorkState<M>> | Again | Failed | PutBack
    }

/** Moves the rows of a table along the edges of its graph. Every method is one guarded statement. */
export class Transitions<M extends Machine, Row = Record<string, unknown>> extends Steps<M, Row> {
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
}
