import { inOrder } from './batch.ts'
import type { Retry } from './claim-statements.ts'
import type { Held } from './claimed.ts'
import { GraphError, type Machine, type State, vanishesIn } from './machine.ts'
import type { Step } from './outcome.ts'
import type { Sql, Statement } from './sql.ts'
import { movedStatement, settleAlikeStatement, settleStatement, vanishAlikeStatement } from './transition-statements.ts'

/** A claim and the step it takes. */
export interface Stepped {
  readonly claim: Held
  readonly step: Step
  /** It was written before, and whether that took effect is unknown. */
  readonly isAgain?: boolean
}

/** Writes the steps of claimed rows, many in one guarded statement. */
export class Steps<M extends Machine, Row = Record<string, unknown>> {
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
   * Ends claims, each with its own step, in one statement.
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

  /** Whether a move under this claim, whose answer was lost, took effect. Needs the column `movedBy`. */
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
    const values = [ids, claim.token, from, to, event, afterSeconds, by]
    return [...values, ...this.#counted(attempts), ...Object.values(fields ?? {})]
  }

  async #applyEach(steps: readonly Stepped[], by: string | null): Promise<{ id: string }[]> {
    const [attempts, ...columns] = inOrder(steps, ({ claim }) => claim.id, [
      ({ step }) => step.attempts,
      ({ claim }) => claim.id,
      ({ claim }) => claim.token,
      ({ step }) => step.from,
      ({ step }) => step.to,
      ({ step }) => step.event,
      ({ step }) => step.afterSeconds,
    ])
    const statement = this.once('settle', () => settleStatement(this.machine))
    return await this.sql.query(statement, [...columns, by, ...this.#counted(attempts)])
  }

  /** The last parameter, for tables that count attempts. */
  #counted<T>(attempts: T): T[] {
    return this.machine.columns.attempts === undefined ? [] : [attempts]
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
