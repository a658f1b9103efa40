import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { forPg } from '../connection-url.ts'
import type { Database } from '../database.ts'
import type { Tables } from '../tables.ts'

/** One session, for what has to go through a single connection: COPY, and statements in the same transaction. */
export interface OneConnection {
  readonly db: Database
  readonly client: pg.Client
  close(): Promise<void>
}

const CONNECT_MS = 5_000
/** After so much silence the kernel asks whether the other side is still there. */
const KEEP_ALIVE_MS = 10_000

/** Opens a connection on which a statement may take as long as it likes. */
export async function connectOnce(url: string, name: string): Promise<OneConnection> {
  const client = new pg.Client({
    connectionString: forPg(url),
    application_name: name,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  })
  client.on('error', () => {}) // The statement under way says what is wrong.
  await client.connect()
  const session = { query: client.query.bind(client) as pg.PoolClient['query'], release: () => {} }
  const pool = { connect: async () => session, end: async () => {}, options: {} }
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: pool as never }) })
  return { db, client, close: () => client.end() }
}

/** How values are written and read: the same on every server. None of the limits that are meant for short work. */
const SETTINGS = {
  client_encoding: 'UTF8',
  datestyle: 'ISO',
  intervalstyle: 'postgres',
  timezone: 'UTC',
  extra_float_digits: '1',
  bytea_output: 'hex',
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
}

/** For the rest of the transaction. */
export async function prepareToCopy(tx: Database, more: Readonly<Record<string, string>> = {}): Promise<void> {
  for (const [name, value] of Object.entries({ ...SETTINGS, ...more }))
    await sql`select set_config(${name}, ${value}, true)`.execute(tx)
}
