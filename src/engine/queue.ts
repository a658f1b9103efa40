import { randomUUID } from 'node:crypto'
import { inOrder } from './batch.ts'
import {
  claimRowStatement,
  claimStatement,
  dueStatement,
  LOWEST_ID,
  pickStatement,
  type QueueOptions,
} from './claim-statements.ts'
import { type AnyClaimed, type Claimed, ClaimLost, type Held } from './claimed.ts'
import { countsStatement, unknownStatement } from './count-statements.ts'
import { Cursor } from './cursor.ts'
import {
  forgetStatement,
  holdersStatement,
  releaseStatement,
  renewStatement,
  requeueStatement,
  unclaimStatement,
  updateStatement,
} from './lease-statements.ts'
import type { Machine, State, WorkState } from './machine.ts'
import type { Sql, Statement } from './sql.ts'
import { Transitions } from './transitions.ts'

export { type AnyClaimed, type Claimed, ClaimLost } from './claimed.ts'

/** The schedule of a paused row (ArchiveBox's RETRY_AT_MAX). */
export const RETRY_AT_MAX = new Date('9999-01-01T00:00:00Z')

export interface ClaimOptions {
  readonly limit?: number
  readonly leaseSeconds?: number
  /** Who claims: kept in the table's owner column, if it has one. */
  readonly owner?: string
  /** The values of the queue's `where` and `fence`. */
  readonly values?: readonly unknown[]
  /** The token of the claim, a fresh UUID: for owners that must be known before they claim. Made up when not given. */
  readonly token?: string
}

/**
 * The queue that a table with a state graph is: who holds which row, and for how long; what moves rows on is in
 * `Transitions`. Every method is one statement, decided by the database's clock and row locks. A future `retry_at` is
 * never taken from its owner, but by `requeueClaimsOf`, for owners that are proved dead.
 */
export class Queue<M extends Machine, Row = Record<string, unknown>> extends Transitions<M, Row> {
  readonly options: QueueOptions
  readonly #cursor: Cursor

  constructor(machine: M, sql: Sql, options: QueueOptions = {}) {
    super(machine, sql, options.retry)
    this.options = options
    this.#cursor = new Cursor(LOWEST_ID[machine.idType])
  }

  /**
   * The same queue inside a transaction, or on another connection. What is done again there is done as a whole, by the
   * caller.
   */
  on(sql: Sql): Queue<M, Row> {
    const { retry: _, ...options } = this.options
    return new Queue(this.machine, sql, options)
  }

  /**
   * The rows that are due, in the order of claims; claims nothing.
   * @param values those of the queue's `where`
   */
  async due(limit: number, values: readonly unknown[] = this.#whereValues): Promise<Row[]> {
    return await this.sql.query<Row>(
      this.once('due', () => dueStatement(this.machine, this.options)),
      [limit, ...values],
    )
  }

  /**
   * Claims up to `limit` due rows by moving their schedule one lease ahead. Rows that somebody else claims at this
   * moment are stepped over.
   */
  async claim(options: ClaimOptions = {}): Promise<AnyClaimed<M, Row>[]> {
    const limit = roundLimit(options.limit ?? 1)
    const statement = this.once(`claim ${limit}`, () => claimStatement(this.machine, this.options, limit))
    const token = options.token ?? randomUUID()
    const rows = await this.#claimAhead(statement, token, options)
    let last = { at: '', id: '' }
    const claims: AnyClaimed<M, Row>[] = []
    for (const row of rows) {
      const claim = this.#claimed(row, token)
      const at = String(row['engine_was'])
      if (at >= last.at) last = { at, id: claim.id }
      claims.push(claim)
    }
    if (claims.length > 0) this.#reached(last.at, last.id)
    return claims
  }

  /** Claims the row that comes first; undefined when none is due. */
  async next(options: Omit<ClaimOptions, 'limit'> = {}): Promise<AnyClaimed<M, Row> | undefined> {
    const [claim] = await this.claim(options)
    return claim
  }

  /** Claims this very row; undefined when it is not due, or somebody else was faster. */
  async claimRow(id: string, options: Omit<ClaimOptions, 'limit'> = {}): Promise<AnyClaimed<M, Row> | undefined> {
    const token = options.token ?? randomUUID()
    const statement = this.once('claim row', () => claimRowStatement(this.machine, this.options))
    const [row] = await this.#claimRows(statement, [id], token, options)
    return row && this.#claimed(row, token)
  }

  /**
   * Claims one row, at random out of the first `topN` that are due. 'empty': none is due; 'taken': somebody else was
   * faster.
   */
  async pick(topN: number, options: Omit<ClaimOptions, 'limit'> = {}): Promise<AnyClaimed<M, Row> | 'taken' | 'empty'> {
    const token = options.token ?? randomUUID()
    const statement = this.once(`pick ${topN}`, () =>
      pickStatement(this.machine, this.options, Math.max(1, Math.trunc(topN))),
    )
    const [row] = await this.#claimAhead(statement, token, options)
    if (!row) return 'empty'
    if (row[this.machine.columns.id] === null) return 'taken'
    this.#reached(String(row['engine_was']))
    return this.#claimed(row, token)
  }

  /** Renews claims for another lease. Returns the ids that are still ours; the others are lost. */
  async renew(claims: readonly Held[], leaseSeconds = this.machine.leaseSeconds): Promise<Set<string>> {
    const rows = await this.sql.query<{ id: string }>(
      this.once('renew', () => renewStatement(this.machine)),
      [...inOrder(claims, (held) => held.id, [({ id }) => id, ({ token }) => token]), leaseSeconds],
    )
    return new Set(rows.map(({ id }) => id))
  }

  /**
   * Writes other columns of a claimed row. Throws ClaimLost when the row is not ours, or not in that state, any more;
   * TypeError for a column of the engine's.
   */
  async update(claim: Claimed<M, WorkState<M>, Row>, fields: Partial<Row>): Promise<void> {
    const names = Object.keys(fields)
    if (names.length === 0) return
    const statement = updateStatement(this.machine, names)
    const rows = await this.sql.query(statement, [claim.id, claim.token, claim.state, ...Object.values(fields)])
    if (rows.length !== 1) throw new ClaimLost(`${this.machine.name} ${claim.id}: update in "${claim.state}"`)
  }

  /**
   * Gives a row back in its state, due again after `afterMs`. `blame`: the attempt counts, because it failed; otherwise
   * it was only put off. False: it was not ours any more.
   */
  async release(claim: Held, afterMs = 0, blame = false): Promise<boolean> {
    const statement = this.once('release', () => releaseStatement(this.machine))
    return await this.retry(
      async () => (await this.sql.query(statement, [claim.id, claim.token, afterMs / 1000, blame])).length === 1,
    )
  }

  /** This attempt at a row got somewhere: the ones before it do not count any more. */
  async forgetAttempts(claim: Held): Promise<void> {
    const statement = this.once('forget', () => forgetStatement(this.machine))
    await this.retry(() => this.sql.query(statement, [claim.id, claim.token]))
  }

  /** Which of these owners hold a row, and whether the lease of one ended `seconds` ago: it is not late, but stuck. */
  async holders(owners: readonly string[], seconds: number): Promise<{ owner: string; late: boolean }[]> {
    if (owners.length === 0 || this.machine.columns.owner === undefined) return []
    const statement = this.once('holders', () => holdersStatement(this.machine))
    return await this.retry(() => this.sql.query<{ owner: string; late: boolean }>(statement, [owners, seconds]))
  }

  /**
   * Makes due again what dead owners had claimed (their tokens, where the table names no owner). `blame`: the attempt
   * counts, since they may have died of it. Returns how many rows.
   */
  async requeueClaimsOf(owners: readonly string[], blame = true): Promise<number> {
    if (owners.length === 0) return 0
    return (
      await this.sql.query(
        this.once('requeue', () => requeueStatement(this.machine)),
        [owners, blame],
      )
    ).length
  }

  /** How many rows are in each of these states; all of the graph's when not given. */
  async counts(
    states: readonly State<M>[] = Object.keys(this.machine.states) as State<M>[],
  ): Promise<Record<State<M>, number>> {
    const [row] = await this.sql.query<Record<State<M>, number>>(countsStatement(this.machine, states), [])
    return row!
  }

  /**
   * States of rows that the graph does not know, and how many there are: nobody claims them until somebody knows their
   * state again.
   */
  async unknown(): Promise<Record<string, number>> {
    const rows = await this.sql.query<{ state: string; count: number }>(
      this.once('unknown', () => unknownStatement(this.machine)),
      [],
    )
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
  }

  /** Claims rows from the cursor on; from the start again when there are none. */
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
    {
      leaseSeconds = this.machine.leaseSeconds,
      owner = this.options.owner,
      values = this.options.values ?? [],
    }: Omit<ClaimOptions, 'token'>,
  ): Promise<Record<string, unknown>[]> {
    const owned = this.machine.columns.owner ? [owner ?? null] : []
    return await this.retry(async (isAgain) => {
      if (isAgain)
        await this.sql.query(
          this.once('unclaim', () => unclaimStatement(this.machine)),
          [token, ...owned],
        )
      return await this.sql.query(statement, [leaseSeconds, ...which, token, ...owned, ...values])
    })
  }

  get #whereValues(): readonly unknown[] {
    return (this.options.values ?? []).slice(0, this.options.whereValues ?? 0)
  }

  #claimed(
    { engine_was: _, engine_expired_owner: expiredOwner, ...row }: Record<string, unknown>,
    token: string,
  ): AnyClaimed<M, Row> {
    const { id, status, attempts } = this.machine.columns
    const count = attempts ? Number(row[attempts]) : 1
    return {
      id: String(row[id]),
      state: row[status],
      token,
      attempts: count,
      expiredOwner,
      row,
    } as unknown as AnyClaimed<M, Row>
  }
}

/** Each limit is a statement of its own: few different ones, and never more than was asked for. */
function roundLimit(limit: number): number {
  const most = Math.max(1, Math.min(Math.trunc(limit), 1_000))
  return most <= 16 ? most : most - (most % 16)
}
