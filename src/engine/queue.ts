import { randomUUID } from 'node:crypto'
import type { EventOf, LiveState, Machine, State, Target, WorkState } from './machine.ts'
import type { Sql, Statement } from './sql.ts'
import {
  claimStatement,
  countsStatement,
  dueStatement,
  LOWEST_ID,
  type QueueOptions,
  releaseStatement,
  renewStatement,
  requeueStatement,
} from './statements.ts'
import { deleteStatements, externalStatement, keepStatement, settleStatement, timeoutStatements } from './transition-statements.ts'

/** Seconds a claim holds without a renewal (ArchiveBox's ACTIVE_STATE_LEASE_SECONDS). */
export const LEASE_SECONDS = 60
/** The schedule of a paused row (ArchiveBox's RETRY_AT_MAX). */
export const RETRY_AT_MAX = new Date('9999-01-01T00:00:00Z')
/** How long the place of the last claim is remembered before claims look at the whole index again. */
const CURSOR_MS = 1_000

declare const claimed: unique symbol

/** The right to work on one row. Only `Queue.claim` mints one, so a row that was not claimed cannot be written. */
export interface Claimed<M extends Machine, S extends LiveState<M> = WorkState<M>, Row = Record<string, unknown>> {
  readonly id: string
  readonly state: S
  readonly token: string
  /** Claims of this row that had no clean end, this one included: above 1, an earlier owner died at it. 1 where the table does not count. */
  readonly attempts: number
  /** Who let the lease run out, if anybody: it may still be alive, and must be ended before the work begins again. */
  readonly expiredOwner: string | null
  /** The row as it was claimed. */
  readonly row: Row
  readonly [claimed]: M
}

/** Zero rows matched a guarded write: somebody else owns the row by now. The owner drops it and writes nothing more. */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost'
}

/** What becomes of a claimed row: an event that its state offers, or "not yet": due again after `afterMs`, or the state's `retryAfterMs`. */
export type Outcome<M extends Machine, S extends LiveState<M> = WorkState<M>> = EventOf<M, S> | Again
export interface Again {
  readonly again: true
  readonly afterMs?: number
}

/** "Not yet": the row stays in its state and is due again later. */
export function again(afterMs?: number): Again {
  return afterMs === undefined ? { again: true } : { again: true, afterMs }
}

/** The claim after a change of state: in the new state; none when that state is final. */
export type Moved<M extends Machine, To, Row> = To extends LiveState<M> ? Claimed<M, To, Row> : undefined

export interface ClaimOptions {
  readonly limit?: number
  readonly leaseSeconds?: number
  /** Who claims: kept in the table's owner column, if it has one. */
  readonly owner?: string
  /** The values of the queue's `where` and `fence`. */
  readonly values?: readonly unknown[]
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

  /** The rows that are due, in the order of claims; claims nothing. */
  async due(limit: number): Promise<Row[]> {
    return await this.sql.query<Row>(
      this.#once('due', () => dueStatement(this.machine, this.#options)),
      [limit],
    )
  }

  /** Claims up to `limit` due rows by moving their schedule one lease ahead. Rows that somebody else claims at this moment are stepped over. */
  async claim(options: ClaimOptions = {}): Promise<Claimed<M, WorkState<M>, Row>[]> {
    const { columns, idType } = this.machine
    const token = randomUUID()
    const cursor = this.#options.order === 'newest' || performance.now() > (this.#cursor?.until ?? 0) ? undefined : this.#cursor
    const limit = roundLimit(options.limit ?? 1)
    const statement = this.#once(`claim ${limit}`, () => claimStatement(this.machine, this.#options, limit))
    const rows = await this.sql.query<Record<string, unknown>>(statement, [
      options.leaseSeconds ?? LEASE_SECONDS,
      cursor?.at ?? '-infinity',
      cursor?.id ?? LOWEST_ID[idType],
      token,
      ...(columns.owner ? [options.owner ?? null] : []),
      ...(options.values ?? []),
    ])
    if (rows.length === 0 && cursor) {
      // Nothing behind the cursor is no proof of an empty queue.
      this.#cursor = undefined
      return await this.claim(options)
    }
    const claims: Claimed<M, WorkState<M>, Row>[] = []
    let last = { at: '-infinity', id: LOWEST_ID[idType] as string }
    for (const { engine_was: was, engine_expired_owner: expiredOwner, ...row } of rows) {
      const id = String(row[columns.id])
      if (String(was) >= last.at) last = { at: String(was), id }
      const attempts = columns.attempts ? Number(row[columns.attempts]) : 1
      claims.push({ id, state: row[columns.status], token, attempts, expiredOwner, row } as unknown as Claimed<M, WorkState<M>, Row>)
    }
    this.#cursor = { ...last, until: cursor?.until ?? performance.now() + CURSOR_MS }
    return claims
  }

  /** Renews claims for another lease. Returns the ids that are still ours; the others are lost. */
  async renew(claims: readonly Pick<Claimed<M>, 'id' | 'token'>[], leaseSeconds = LEASE_SECONDS): Promise<Set<string>> {
    const rows = await this.sql.query<{ id: string }>(
      this.#once('renew', () => renewStatement(this.machine)),
      [claims.map(({ id }) => id), claims.map(({ token }) => token), leaseSeconds],
    )
    return new Set(rows.map(({ id }) => id))
  }

  /**
   * Ends claims, each with its outcome, in one statement. Returns the ids that were ours; the others are lost, and nothing was written to them.
   * @param by who does it, for the history
   */
  async settle(
    settled: readonly { readonly claim: Claimed<M>; readonly outcome: Outcome<M> }[],
    by: string | null = null,
  ): Promise<Set<string>> {
    if (settled.length === 0) return new Set()
    const steps = settled.map(({ claim, outcome }) => this.#step(claim.state, outcome as string | Again))
    const rows = await this.sql.query<{ id: string }>(
      this.#once('settle', () => settleStatement(this.machine)),
      [
        settled.map(({ claim }) => claim.id),
        settled.map(({ claim }) => claim.token),
        settled.map(({ claim }) => claim.state),
        steps.map(({ to }) => to),
        steps.map(({ event }) => event),
        steps.map(({ afterSeconds }) => afterSeconds),
        by,
      ],
    )
    return new Set(rows.map(({ id }) => id))
  }

  /**
   * Moves a claimed row along one edge. Into a live state the claim goes on; into a final one it ends. Throws ClaimLost when the row is not
   * ours, or not in that state, any more.
   */
  async move<S extends WorkState<M>, const E extends EventOf<M, S>>(
    claim: Claimed<M, S, Row>,
    event: E,
    by: string | null = null,
  ): Promise<Moved<M, Target<M, S, E>, Row>> {
    const { to, afterSeconds } = this.#step(claim.state, event)
    const rows =
      afterSeconds === null
        ? await this.settle([{ claim: claim as unknown as Claimed<M>, outcome: event as unknown as Outcome<M> }], by)
        : await this.sql.query<{ id: string }>(
            this.#once('keep', () => keepStatement(this.machine)),
            [claim.id, claim.token, claim.state, to, event, by],
          )
    if ((rows instanceof Set ? rows.size : rows.length) !== 1)
      throw new ClaimLost(`${this.machine.name} ${claim.id}: ${claim.state} -${event}-> ${to}`)
    return (afterSeconds === null ? undefined : { ...claim, state: to }) as Moved<M, Target<M, S, E>, Row>
  }

  /**
   * Gives a row back in its state, due again after `afterMs`. `blame`: the attempt counts, because it failed; otherwise it was only put off.
   * False: it was not ours any more.
   */
  async release(claim: Pick<Claimed<M>, 'id' | 'token'>, afterMs = 0, blame = false): Promise<boolean> {
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

  /** An event from outside, on rows that need not be claimed: whoever has claimed one, loses it. Returns the ids in a state that offers the event. */
  async send(
    ids: readonly string[],
    event: EventOf<M, LiveState<M>>,
    dueAt: Date | null = new Date(0),
    by: string | null = null,
  ): Promise<string[]> {
    const statement = externalStatement(this.machine, event)
    if (!statement) throw new TypeError(`state graph "${this.machine.name}": no state offers the event "${event}"`)
    return (await this.sql.query<{ id: string }>(statement, [ids, dueAt, by])).map(({ id }) => id)
  }

  /** Moves rows along their timeouts, as far as nobody works on them. Returns how many. */
  async expire(limit = 1_000, by: string | null = null): Promise<number> {
    let moved = 0
    for (const statement of timeoutStatements(this.machine)) moved += (await this.sql.query(statement, [limit, by])).length
    return moved
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

  /** Where an outcome leads, and when the row is due there; null: never again. */
  #step(state: string, outcome: string | Again): { to: string; event: string; afterSeconds: number | null } {
    const def = this.machine.states[state]
    if (typeof outcome === 'object') return { to: state, event: '', afterSeconds: (outcome.afterMs ?? def?.retryAfterMs ?? 0) / 1000 }
    const to = def?.on?.[outcome]
    if (to === undefined) throw new TypeError(`state graph "${this.machine.name}": state "${state}" does not offer the event "${outcome}"`)
    const target = this.machine.states[to]!
    return {
      to,
      event: outcome,
      afterSeconds: target.final ? null : target.external ? EXTERNAL_SECONDS : (target.startAfterMs ?? 0) / 1000,
    }
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

/** A state that only somebody from outside leaves is not due for as long as anybody lives. */
const EXTERNAL_SECONDS = 100 * 365 * 86_400
