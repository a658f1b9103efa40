import { uuidv7 } from '../base/ids.ts'
import {
  type ClaimOptions,
  claimRowStatement,
  claimStatement,
  dueStatement,
  LOWEST_ID,
  pickStatement,
  type QueueOptions,
  settleAndClaimStatement,
} from './claim-statements.ts'
import { type AnyClaimed, type Claimed, ClaimLost, claimedFrom } from './claimed.ts'
import { countsStatement, unknownStatement } from './count-statements.ts'
import { Cursor } from './cursor.ts'
import { unclaimStatement } from './lease-statements.ts'
import { Leases } from './leases.ts'
import { type EventOf, type Machine, type State, vanishesIn, type WorkState } from './machine.ts'
import { stepOf } from './outcome.ts'
import type { Sql, Statement } from './sql.ts'

export { type AnyClaimed, type Claimed, ClaimLost } from './claimed.ts'

/** The schedule of a paused row (ArchiveBox's RETRY_AT_MAX). */
export const RETRY_AT_MAX = new Date('9999-01-01T00:00:00Z')

/**
 * A table with a state graph as a queue: who gets which row. `Leases` says for how long, and `Transitions` moves rows.
 * Every method is one statement, decided by the database's clock and row locks. Nobody takes a future `retry_at` from
 * its owner, except `requeueClaimsOf`, for owners that are proved dead.
 */
export class Queue<M extends Machine, Row = Record<string, unknown>> extends Leases<M, Row> {
  readonly options: QueueOptions
  readonly #cursor: Cursor

  constructor(machine: M, sql: Sql, options: QueueOptions = {}) {
    super(machine, sql, options.retry)
    this.options = options
    this.#cursor = new Cursor(LOWEST_ID[machine.idType])
  }

  /** The same queue inside a transaction or on another connection, where the caller repeats the whole transaction. */
  on(sql: Sql): Queue<M, Row> {
    const { retry: _, ...options } = this.options
    return new Queue(this.machine, sql, options)
  }

  /**
   * The due rows in the order of claims; claims nothing.
   * @param values those of the queue's `where`
   */
  async due(limit: number, values: readonly unknown[] = this.#whereValues): Promise<Row[]> {
    const statement = this.once('due', () => dueStatement(this.machine, this.options))
    return await this.sql.query<Row>(statement, [limit, ...values])
  }

  /**
   * Claims up to `limit` due rows by moving their schedule one lease ahead. Skips rows that are being claimed
   * elsewhere.
   */
  async claim(options: ClaimOptions = {}): Promise<AnyClaimed<M, Row>[]> {
    const limit = roundLimit(options.limit ?? 1)
    const statement = this.once(`claim ${limit}`, () => claimStatement(this.machine, this.options, limit))
    const token = options.token ?? uuidv7()
    const rows = await this.#claimAhead(statement, token, options)
    const claims = rows.map((row) => claimedFrom<M, Row>(this.machine, row, token))
    // The one that is furthest in the index.
    const at = rows.map((row) => String(row['engine_was']))
    const last = at.reduce((most, each, index) => (each >= at[most]! ? index : most), 0)
    if (claims.length > 0) this.#reached(at[last]!, claims[last]!.id)
    return claims
  }

  /** Claims the first due row; undefined when none is due. */
  async next(options: Omit<ClaimOptions, 'limit'> = {}): Promise<AnyClaimed<M, Row> | undefined> {
    const [claim] = await this.claim(options)
    return claim
  }

  /** Claims this row; undefined when it is not due or another claimant was faster. */
  async claimRow(id: string, options: Omit<ClaimOptions, 'limit'> = {}): Promise<AnyClaimed<M, Row> | undefined> {
    const token = options.token ?? uuidv7()
    const statement = this.once('claim row', () => claimRowStatement(this.machine, this.options))
    const [row] = await this.#claimRows(statement, [id], token, options)
    return row && claimedFrom<M, Row>(this.machine, row, token)
  }

  /**
   * Ends a claim, as `move` does, and claims the first due row in the same statement: one commit and one answer for
   * both, and the new claim is on disk.
   * @param event leads to a state in which nothing is claimed
   * @param next how to claim; without it, and when the row is deleted by the event, nothing is claimed
   * @returns the new claim; undefined when no row was found. Throws ClaimLost, and claims nothing, when the row that is
   * to   end is no longer ours or in that state
   */
  async moveAndClaim<S extends WorkState<M>>(
    claim: Claimed<M, S, Row>,
    event: EventOf<M, S>,
    next: Omit<ClaimOptions, 'limit'> | undefined,
    by: string | null = null,
    fields?: Readonly<Partial<Row>>,
    where?: string,
  ): Promise<AnyClaimed<M, Row> | undefined> {
    const step = stepOf(this.machine, claim, event)
    const lost = new ClaimLost(`${this.machine.name} ${claim.id}: ${claim.state} -${event}-> ${step.to}`)
    if (!next || vanishesIn(this.machine, step.to)) {
      if ((await this.apply([{ claim, step }], by, fields, where)).size > 0) throw lost
      return undefined
    }
    const names = Object.keys(fields ?? {})
    const statement = this.once(`settle and claim ${names} ${where}`, () =>
      settleAndClaimStatement(this.machine, this.options, names, where),
    )
    const token = next.token ?? uuidv7()
    const { at, id } = this.#cursor.place
    const values = [
      ...this.alikeValues([claim.id], { claim, step }, by, fields),
      ...this.#claimValues([at, id], token, next),
    ]
    const row = await this.retry(async (isAgain) => {
      if (isAgain) await this.#unclaim(token, next)
      const [ended] = await this.sql.query<Record<string, unknown>>(statement, values)
      if (!ended!['engine_ended'] && !(isAgain && (await this.hasMoved(claim, step.to as State<M>)))) throw lost
      return ended!
    })
    if (row[this.machine.columns.id] === null) return undefined
    this.#reached(String(row['engine_was']), String(row[this.machine.columns.id]))
    return claimedFrom<M, Row>(this.machine, row, token, true)
  }

  /**
   * Claims one row, picked at random from the first `topN` due rows. 'empty': none is due; 'taken': another was faster.
   */
  async pick(topN: number, options: Omit<ClaimOptions, 'limit'> = {}): Promise<AnyClaimed<M, Row> | 'taken' | 'empty'> {
    const token = options.token ?? uuidv7()
    const statement = this.once(`pick ${topN}`, () =>
      pickStatement(this.machine, this.options, Math.max(1, Math.trunc(topN))),
    )
    const [row] = await this.#claimAhead(statement, token, options)
    if (!row) return 'empty'
    if (row[this.machine.columns.id] === null) return 'taken'
    this.#reached(String(row['engine_was']))
    return claimedFrom<M, Row>(this.machine, row, token)
  }

  /** How many rows are in each of these states; by default all of the graph's. */
  async counts(
    states: readonly State<M>[] = Object.keys(this.machine.states) as State<M>[],
  ): Promise<Record<State<M>, number>> {
    const [row] = await this.sql.query<Record<State<M>, number>>(countsStatement(this.machine, states), [])
    return row!
  }

  /** Counts rows in states that the graph does not know: they are not claimed until a program knows their state. */
  async unknown(): Promise<Record<string, number>> {
    const statement = this.once('unknown', () => unknownStatement(this.machine))
    const rows = await this.sql.query<{ state: string; count: number }>(statement, [])
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
  }

  /** Claims rows from the cursor on, and from the start when there are none. */
  async #claimAhead(statement: Statement, token: string, options: ClaimOptions): Promise<Record<string, unknown>[]> {
    const { at, id } = this.#cursor.place
    const isAhead = this.#cursor.isAhead
    const rows = await this.#claimRows(statement, [at, id], token, options)
    if (rows.length > 0 || !isAhead) return rows
    this.#cursor.reset()
    return await this.#claimAhead(statement, token, options)
  }

  #reached(at: string, id?: string): void {
    if (this.options.order !== 'newest') this.#cursor.reached(at, id)
  }

  async #claimRows(
    statement: Statement,
    which: readonly unknown[],
    token: string,
    options: ClaimOptions,
  ): Promise<Record<string, unknown>[]> {
    return await this.retry(async (isAgain) => {
      if (isAgain) await this.#unclaim(token, options)
      return await this.sql.query(statement, this.#claimValues(which, token, options))
    })
  }

  #claimValues(which: readonly unknown[], token: string, options: ClaimOptions): unknown[] {
    const { leaseSeconds = this.machine.leaseSeconds, values = this.options.values ?? [] } = options
    return [leaseSeconds, ...which, token, ...this.#owned(options), ...values]
  }

  /** Undoes a claim whose answer was lost. */
  async #unclaim(token: string, options: ClaimOptions): Promise<void> {
    const statement = this.once('unclaim', () => unclaimStatement(this.machine))
    await this.sql.query(statement, [token, ...this.#owned(options)])
  }

  #owned({ owner = this.options.owner }: ClaimOptions): unknown[] {
    return this.machine.columns.owner ? [owner ?? null] : []
  }

  get #whereValues(): readonly unknown[] {
    return (this.options.values ?? []).slice(0, this.options.whereValues ?? 0)
  }
}

/** Each limit is its own statement: rounds to a few values, never above the requested one. */
function roundLimit(limit: number): number {
  const most = Math.max(1, Math.min(Math.trunc(limit), 1_000))
  return most <= 16 ? most : most - (most % 16)
}
