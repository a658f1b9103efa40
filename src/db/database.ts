import { CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import type { Sql } from '../engine/sql.ts'
import { type BoundedClient, boundedClient } from './client.ts'
import { forPg } from './connection-url.ts'
import type { Patience } from './patience.ts'
import { connectWithRetry } from './retry.ts'
import type { Database, Tables } from './tables.ts'

export type { Database } from './tables.ts'

/**
 * Limits of every connection: how long connecting may take, or waiting for a free one; and after how much silence the
 * kernel checks whether the other side is still there.
 */
export const CONNECTING = {
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
} as const
/**
 * How long one statement may take. Below the 25 s for which a leader trusts its lead, so that an unresponsive database
 * is noticed in time.
 */
export const STATEMENT_MS = 15_000
/** How long a connection beyond these stays idle before it is closed: a backend takes 4 MB. */
const IDLE_MS = 10_000
const KEPT = 2

/** What a session must say for `RELAXED` to have an effect. */
const RELAXED_COMMIT = 'archivebox.synchronous_commit=off'

// bigint and count() as numbers: every one in this schema stays below 2^53.
const INT8 = 20
const NUMERIC = 1700
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (oid === INT8 || oid === NUMERIC) && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format as 'text'),
}

/**
 * What the server shows of a connection: the role, and the runner it belongs to, so that a takeover can end its
 * backends.
 */
export function applicationName(role: string, runnerId = ''): string {
  return `archivebox-ts ${role} ${runnerId}`.trim()
}

export interface DatabaseOptions {
  readonly name: string
  /** The most connections this process may hold; 2 when not given. */
  readonly connections?: number
  /**
   * The server is our own, with no pooler in between and no standby behind: each statement is kept prepared on its
   * connection, which halves the server's work, and commits that need not wait for the disk do not.
   */
  readonly embedded?: boolean
  /**
   * One plan for each prepared statement, whatever its values: for a process that sends the same few over and over.
   * Left to itself the server plans each at least five times, and some every time, depending on how large tables were.
   */
  readonly onePlan?: boolean
  /** How long one statement may take, in milliseconds; a minute when not given. */
  readonly statementMs?: number
  /** Statements wait for a database that is away; without this they fail at once. */
  readonly patience?: Patience
}

/**
 * Opens a small pool. Nothing is sent before the first query, so an unreachable server shows there (see
 * `explainDatabaseError`).
 */
export function openDatabase(url: string, options: DatabaseOptions): Database {
  const { name, connections = 2, embedded = false, onePlan = false, statementMs = 60_000, patience } = options
  const session = [RELAXED_COMMIT, ...(onePlan ? ['plan_cache_mode=force_generic_plan'] : [])]
  const pool = new pg.Pool({
    connectionString: forPg(url),
    max: connections,
    min: Math.min(connections, KEPT),
    application_name: name,
    ...(embedded && { options: session.map((setting) => `-c ${setting}`).join(' ') }),
    ...CONNECTING,
    idleTimeoutMillis: IDLE_MS,
    types: types as pg.CustomTypesConfig,
    Client: boundedClient({ statementMs, prepare: embedded }),
  })
  // A connection that the server cuts, idle or between two statements, must not end the process: the next query reports
  // what is wrong.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const connect = async () => {
    const client = await connectWithRetry(db, () => pool.connect())
    const release = client.release.bind(client)
    client.release = (error) => release(error || (client as unknown as BoundedClient).spoiled)
    return client
  }
  const db: Database = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: { connect, end: () => pool.end(), options: pool.options } }),
  })
  db.patience = patience
  return db
}

/** Opens a connection ahead of time; errors show with the first statement. */
export async function connectAhead(db: Database): Promise<void> {
  await db
    .connection()
    .execute(async () => {})
    .catch(() => {})
}

/** Checks that the database answers. */
export async function ping(db: Database): Promise<void> {
  await sql`select 1`.execute(db)
}

/**
 * The state engine's `Sql`, inside a transaction or on the pool. Statements are not named, so that a pooler in between
 * remains possible.
 */
export function kyselySql(db: Database): Sql {
  return {
    query: async <Row>({ text }: { readonly text: string }, values: readonly unknown[]) =>
      (await db.executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows,
  }
}
