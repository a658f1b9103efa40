import { randomUUID } from 'node:crypto'
import { type AnyClaimed, type Claimed, ClaimLost, type Held, type Moved } from './claimed.ts'
import type { AnyEventOf, EventOf, Machine, State, Target, WorkState } from './machine.ts'
import { type Again, type Failed, type Outcome, type PutBack, type Step, stepOf } from './outcome.ts'
import type { Sql, Statement } from './sql.ts'
import {
  claimRowStatement,
  claimStatement,
  countsStatement,
  dueStatement,
  LOWEST_ID,
  pickStatement,
  type QueueOptions,
  releaseStatement,
  renewStatement,
  requeueStatement,
  unknownStatement,
  updateStatement,
} from './statements.ts'
import {
  deleteStatements,
  externalStatement,
  keepStatement,
  settleAlikeStatement,
  settleStatement,
  timeoutStatement,
} from './transition-statements.ts'

export { type AnyClaimed, type Claimed, ClaimLost, type Moved } from './claimed.ts'
export { type Again, again, type Outcome } from './outcome.ts'

/** Seconds a claim holds without a renewal (ArchiveBox's ACTIVE_STATE_LEASE_SECONDS). */
export const LEASE_SECONDS = 60
/** The schedule of a paused row (ArchiveBox's RETRY_AT_MAX). */
export const RETRY_AT_MAX = new Date('9999-01-01T00:00:00Z')
/** How long the place of the last claim is remembered before claims look at the whole index again. */
const CURSOR_MS = 1_000

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

/** A claim and what becomes of it. */
export type Settled<M extends Machine> =
  | { [S in WorkState<M>]: { readonly claim: Claimed<M, S, unknown>; readonly outcome: Outcome<M, S> } }[WorkState<M>]
  | { readonly claim: Claimed<M, WorkState<M>, unknown>; readonly outcome: EventOf<M, WorkState<M>> | Again | Failed | PutBack }

/** A claim and where it leads. */
export interface Stepped {
  readonly claim: Held
  readonly step: Step
}

/**
 * The queue that a table with a state graph is. Every method is one statement, decided by the database's clock and row locks. A future
 * `retry_at` is never taken from its owner, but by `requeueClaimsOf`, for owners that are proved dead.
 */
export class Queue<M extends Machine, Row = Record<string, unknown>> {
  readonly machine: M
  readonly sql: Sql
  readonly #options: QueueOptions
  readonly #statements = new Map<string, Statement>()
  /** The place of the last row claimed: index entries before it are dead. Forgotten every second, for rows that were put before it since. */
  #cursor: { readonly at: string; readonly id: string; readonly until: number } | undefined

  constructor(machine: M, sql: Sql, options: QueueOptions = {}) {
    this.machine = machine
    this.sql = sql
    this.#options = options
  }

  /** The same queue inside a transaction, or on another connection. */
  on(sql: Sql): Queue<M, Row> {
    return new Queue(this.machine, sql, this.#options)
  }

  /**
   * The rows that are due, in the order of claims; claims nothing.
   * @param values those of the queue's `where`
   */
  async due(limit: number, values: readonly unknown[] = []): Promise<Row[]> {
    return await this.sql.query<Row>(
      this.#once('due', () => dueStatement(this.machine, this.#options)),
      [limit, ...values],
    )
  }

  /** Claims up to `limit` due rows by moving their schedule one lease ahead. Rows that somebody else claims at this moment are stepped over. */
  async claim(options: ClaimOptions = {}): Promise<AnyClaimed<M, Row>[]> {
    const cursor = this.#options.order === 'newest' || performance.now() > (this.#cursor?.until ?? 0) ? undefined : this.#cursor
    const limit = roundLimit(options.limit ?? 1)
    const statement = this.#once(`claim ${limit}`, () => claimStatement(this.machine, this.#options, limit))
    const lowest = LOWEST_ID[this.machine.idType]
    const token = options.token ?? randomUUID()
    const rows = await this.#claimRows(statement, [cursor?.at ?? '-infinity', cursor?.id ?? lowest], token, options)
    if (rows.length === 0) {
      this.#cursor = undefined
      // Nothing behind the cursor is no proof of an empty queue.
      return cursor ? await this.claim(options) : []
    }
    let last = { at: '-infinity', id: lowest as string }
    const claims: AnyClaimed<M, Row>[] = []
    for (const row of rows) {
      const claim = this.#claimed(row, token)
      if (String(row['engine_was']) >= last.at) last = { at: String(row['engine_was']), id: claim.id }
      claims.push(claim)
    }
    this.#cursor = { ...last, until: cursor?.until ?? performance.now() + CURSOR_MS }
    return claims
  }

  /** Claims this very row; undefined when it is not due, or somebody else was faster. */
  async claimRow(id: string, options: Omit<ClaimOptions, 'limit'> = {}): Promise<AnyClaimed<M, Row> | undefined> {
    const token = options.token ?? randomUUID()
    const statement = this.#once('claim row', () => claimRowStatement(this.machine, this.#options))
    const [row] = await this.#claimRows(statement, [id], token, options)
    return row && this.#claimed(row, token)
  }

  /** Claims one row, at random out of the first `topN` that are due. 'empty': none is due; 'taken': somebody else was faster. */
  async pick(topN: number, options: Omit<ClaimOptions, 'limit'> = {}): Promise<AnyClaimed<M, Row> | 'taken' | 'empty'> {
    const token = options.token ?? randomUUID()
    const statement = this.#once(`pick ${topN}`, () => pickStatement(this.machine, this.#options, Math.max(1, Math.trunc(topN))))
    const [row] = await this.#claimRows(statement, [], token, options)
    if (!row) return 'empty'
    return row[this.machine.columns.id] === null ? 'taken' : this.#claimed(row, token)
  }

  /** Renews claims for another lease. Returns the ids that are still ours; the others are lost. */
  async renew(claims: readonly Held[], leaseSeconds = LEASE_SECONDS): Promise<Set<string>> {
    const rows = await this.sql.query<{ id: string }>(
      this.#once('renew', () => renewStatement(this.machine)),
      [...inOrder(claims, (held) => held.id, [({ id }) => id, ({ token }) => token]), leaseSeconds],
    )
    return new Set(rows.map(({ id }) => id))
  }

  /**
   * Ends claims, each with its outcome, in one statement. Returns the ids that were ours; the others are lost, and nothing was written to them.
   * Throws ForeignOutcome, and writes nothing at all, when a state does not offer its outcome.
   * @param by who does it, for the history
   */
  async settle(settled: readonly Settled<M>[], by: string | null = null): Promise<Set<string>> {
    return await this.apply(
      settled.map(({ claim, outcome }) => ({ claim, step: stepOf(this.machine, claim, outcome) })),
      by,
    )
  }

  /** What `settle` does once it is known where each outcome leads. */
  async apply(steps: readonly Stepped[], by: string | null = null): Promise<Set<string>> {
    const first = steps[0]?.step
    if (!first) return new Set()
    const counts = this.machine.columns.attempts !== undefined
    if (steps.every(({ step }) => isAlike(step, first))) {
      const held = inOrder(steps, ({ claim }) => claim.id, [({ claim }) => claim.id, ({ claim }) => claim.token])
      const rows = await this.sql.query<{ id: string }>(
        this.#once('settle alike', () => settleAlikeStatement(this.machine)),
        [...held, first.from, first.to, first.event, first.afterSeconds, by, ...(counts ? [first.attempts] : [])],
      )
      return new Set(rows.map(({ id }) => id))
    }
    const [ids, tokens, from, to, events, afterSeconds, attempts] = inOrder(steps, ({ claim }) => claim.id, [
      ({ claim }) => claim.id,
      ({ claim }) => claim.token,
      ({ step }) => step.from,
      ({ step }) => step.to,
      ({ step }) => step.event,
      ({ step }) => step.afterSeconds,
      ({ step }) => step.attempts,
    ])
    const rows = await this.sql.query<{ id: string }>(
      this.#once('settle', () => settleStatement(this.machine)),
      [ids, tokens, from, to, events, afterSeconds, by, ...(counts ? [attempts] : [])],
    )
    return new Set(rows.map(({ id }) => id))
  }

  /**
   * Moves a claimed row along one edge. Into a state in which rows are claimed the claim goes on; into any other it ends. Throws ClaimLost
   * when the row is not ours, or not in that state, any more.
   */
  async move<S extends WorkState<M>, const E extends EventOf<M, S>>(
    claim: Claimed<M, S, Row>,
    event: E,
    by: string | null = null,
  ): Promise<Moved<M, Target<M, S, E>, Row>> {
    const step = stepOf(this.machine, claim, event)
    const { final, external } = this.machine.states[step.to]!
    const ends = final || external
    const rows = ends
      ? await this.apply([{ claim, step }], by)
      : await this.sql.query<{ id: string }>(
          this.#once('keep', () => keepStatement(this.machine)),
          [claim.id, claim.token, claim.state, step.to, event, by],
        )
    if ((rows instanceof Set ? rows.size : rows.length) !== 1)
      throw new ClaimLost(`${this.machine.name} ${claim.id}: ${claim.state} -${event}-> ${step.to}`)
    return (ends ? undefined : { ...claim, state: step.to }) as Moved<M, Target<M, S, E>, Row>
  }

  /**
   * Writes other columns of a claimed row. Throws ClaimLost when the row is not ours, or not in that state, any more; TypeError for a column of
   * the engine's.
   */
  async update(claim: Claimed<M, WorkState<M>, Row>, fields: Partial<Row>): Promise<void> {
    const names = Object.keys(fields)
    if (names.length === 0) return
    const statement = updateStatement(this.machine, names)
    const rows = await this.sql.query(statement, [claim.id, claim.token, claim.state, ...Object.values(fields)])
    if (rows.length !== 1) throw new ClaimLost(`${this.machine.name} ${claim.id}: update in "${claim.state}"`)
  }

  /**
   * Gives a row back in its state, due again after `afterMs`. `blame`: the attempt counts, because it failed; otherwise it was only put off.
   * False: it was not ours any more.
   */
  async release(claim: Held, afterMs = 0, blame = false): Promise<boolean> {
    const statement = this.#once('release', () => releaseStatement(this.machine))
    return (await this.sql.query(statement, [claim.id, claim.token, afterMs / 1000, blame])).length === 1
  }

  /** Makes due again what dead owners had claimed (their tokens, where the table names no owner). Returns how many rows. */
  async requeueClaimsOf(owners: readonly string[]): Promise<number> {
    if (owners.length === 0) return 0
    return (
      await this.sql.query(
        this.#once('requeue', () => requeueStatement(this.machine)),
        [owners],
      )
    ).length
  }

  /**
   * An event from outside, on rows that need not be claimed: whoever has claimed one, loses it.
   * @param dueAt when they are due in their new state, if that is not final; as the graph has it when not given
   * @returns the ids of those that were in a state that offers the event
   */
  async send(ids: readonly string[], event: AnyEventOf<M>, dueAt?: Date | null, by: string | null = null): Promise<string[]> {
    const statement = externalStatement(this.machine, event, dueAt !== undefined)
    if (!statement) throw new TypeError(`state graph "${this.machine.name}": no state offers the event "${event}"`)
    const values = [ids, by, ...(dueAt !== undefined ? [dueAt] : [])]
    return (await this.sql.query<{ id: string }>(statement, values)).map(({ id }) => id)
  }

  /** Moves rows along their timeouts, as far as nobody works on them: up to `limit` of each state. Returns how many. */
  async expire(limit = 1_000, by: string | null = null): Promise<number> {
    let moved = 0
    for (const state of Object.keys(this.machine.states) as State<M>[]) moved += await this.expireState(state, limit, by)
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

  /** How many rows are in each of these states; all of the graph's when not given. */
  async counts(states: readonly State<M>[] = Object.keys(this.machine.states) as State<M>[]): Promise<Record<State<M>, number>> {
    const [row] = await this.sql.query<Record<State<M>, number>>(countsStatement(this.machine, states), [])
    return row!
  }

  /** States of rows that the graph does not know, and how many there are: nobody claims them until somebody knows their state again. */
  async unknown(): Promise<Record<string, number>> {
    const rows = await this.sql.query<{ state: string; count: number }>(
      this.#once('unknown', () => unknownStatement(this.machine)),
      [],
    )
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
  }

  async #claimRows(
    statement: Statement,
    which: readonly unknown[],
    token: string,
    { leaseSeconds = LEASE_SECONDS, owner, values = [] }: Omit<ClaimOptions, 'token'>,
  ): Promise<Record<string, unknown>[]> {
    const owned = this.machine.columns.owner ? [owner ?? null] : []
    return await this.sql.query(statement, [leaseSeconds, ...which, token, ...owned, ...values])
  }

  #claimed({ engine_was: _, engine_expired_owner: expiredOwner, ...row }: Record<string, unknown>, token: string): AnyClaimed<M, Row> {
    const { id, status, attempts } = this.machine.columns
    const count = attempts ? Number(row[attempts]) : 1
    return { id: String(row[id]), state: row[status], token, attempts: count, expiredOwner, row } as unknown as AnyClaimed<M, Row>
  }

  #once(verb: string, write: () => Statement): Statement {
    const statement = this.#statements.get(verb) ?? write()
    this.#statements.set(verb, statement)
    return statement
  }
}

/** Each limit is a statement of its own: few different ones, and never more than was asked for. */
function roundLimit(limit: number): number {
  const most = Math.max(1, Math.min(Math.trunc(limit), 1_000))
  return most <= 16 ? most : most - (most % 16)
}

/** The columns of a batch, sorted by id: batches that lock the same rows lock them in the same order, and do not wait for each other in a ring. */
function inOrder<T, const C extends readonly ((one: T) => unknown)[]>(
  batch: readonly T[],
  id: (one: T) => string,
  columns: C,
): { [K in keyof C]: ReturnType<C[K]>[] } {
  const sorted = batch.toSorted((a, b) => (id(a) < id(b) ? -1 : 1))
  return columns.map((column) => sorted.map(column)) as { [K in keyof C]: ReturnType<C[K]>[] }
}

const isAlike = (a: Step, b: Step) =>
  a.from === b.from && a.to === b.to && a.event === b.event && a.afterSeconds === b.afterSeconds && a.attempts === b.attempts
