import type { Socket } from 'node:net'
import { Kysely, PostgresDialect, sql, type TransactionBuilder } from 'kysely'
import pg from 'pg'
import { forPg } from '../connection-url.ts'
import { CONNECTING, type Database } from '../database.ts'
import type { Tables } from '../tables.ts'

/** One session, for what has to go through a single connection: COPY, and statements in the same transaction. */
export interface Session {
  readonly tx: Database
  readonly client: pg.Client
}

/**
 * Does `work` in a transaction on a separate connection, on which a statement may take as long as it likes. When it
 * fails, or `stop` aborts, the connection is cut: the server rolls it back, and nobody waits for the end of a COPY
 * without a reader.
 */
export async function inSession<T>(
  url: string,
  name: string,
  begin: (db: Database) => TransactionBuilder<Tables>,
  work: (session: Session) => Promise<T>,
  stop: AbortSignal,
): Promise<T> {
  stop.throwIfAborted()
  const client = new pg.Client({
    connectionString: forPg(url),
    application_name: name,
    ...CONNECTING,
  })
  client.on('error', () => {}) // The running statement reports what is wrong.
  await client.connect()
  const cut = () => (client as pg.Client & { connection: { stream: Socket } }).connection.stream.destroy()
  stop.addEventListener('abort', cut)
  const session = { query: client.query.bind(client), release: () => {} }
  const pool = { connect: async () => session, end: async () => {}, options: {} }
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: pool as never }) })
  let failure: { readonly error: unknown } | undefined
  try {
    return await begin(db).execute(async (tx) => {
      return await work({ tx, client }).catch((error: unknown) => {
        failure = { error }
        cut()
        throw error
      })
    })
  } catch (error) {
    throw failure ? failure.error : error // Not the error that a cut connection could not be rolled back.
  } finally {
    stop.removeEventListener('abort', cut)
    await client.end().catch(() => {})
  }
}

/** How values are written and read: the same on every server. Without the limits for short work. */
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
