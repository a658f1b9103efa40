import { createHash } from 'node:crypto'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { AppError, codeOf, EXIT, messageOf, UsageError } from '../base/errors.ts'
import type { Sql } from '../engine/sql.ts'
import type { Tables } from './tables.ts'

export type Database = Kysely<Tables>

// bigint and count() as numbers: every one in this schema stays below 2^53.
const INT8 = 20
const NUMERIC = 1700
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (oid === INT8 || oid === NUMERIC) && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format as 'text'),
}

/** What the server shows of a connection: the role, and the runner it belongs to, so that a takeover can end its backends. */
export function applicationName(role: string, runnerId = ''): string {
  return `archivebox-ts ${role} ${runnerId}`.trim()
}

/**
 * Opens a small pool. Nothing is sent before the first query, so an unreachable server shows there (see `explainDatabaseError`).
 * @param connections the most connections this process may hold; workers need one or two
 * @param prepare keep each statement prepared on its connection: halves the server's work, but wants the server itself, no pooler in between
 */
export function openDatabase(url: string, options: { name: string; connections?: number; prepare?: boolean }): Database {
  if (!/^postgres(ql)?:\/\//.test(url)) throw badUrl(url)
  const pool = new pg.Pool({
    connectionString: url,
    max: options.connections ?? 2,
    application_name: options.name,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 0,
    keepAlive: true,
    types: types as pg.CustomTypesConfig,
    ...(options.prepare ? { Client: PreparingClient } : {}),
  })
  // A connection that the server cuts, idle or between two statements, must not end the process: the next query says what is wrong.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
}

const UNREACHABLE = new Set(['ECONNREFUSED', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ECONNRESET', 'EACCES'])

/** Names each statement by what it says, so that the server parses and plans it once per connection. */
class PreparingClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    const query = this.query.bind(this) as (...args: unknown[]) => unknown
    // Of the many signatures of pg's query(), the one that kysely uses. A text without values may hold many statements.
    const prepared = (text: unknown, values: unknown, ...rest: unknown[]) =>
      typeof text === 'string' && Array.isArray(values) && values.length > 0
        ? query({ name: statementName(text), text, values }, ...rest)
        : query(text, values, ...rest)
    this.query = prepared as typeof this.query
  }
}

const names = new Map<string, string>()
function statementName(text: string): string {
  const name = names.get(text) ?? createHash('sha1').update(text).digest('base64url')
  names.set(text, name)
  return name
}

/** Is this error about the connection or the server, rather than about the statement? */
export function isConnectionError(error: unknown): boolean {
  const code = codeOf(error) ?? ''
  return (
    UNREACHABLE.has(code) ||
    /^(08|57P0|53300)/.test(code) ||
    /Connection terminated|timeout exceeded when trying to connect/.test(messageOf(error))
  )
}

/** Turns a failed connection into one clear line with what to do; other errors pass unchanged. */
export function explainDatabaseError(error: unknown, url: string): unknown {
  const code = codeOf(error) ?? ''
  const where = maskPassword(url)
  const say = (message: string, hint: string) => new AppError(message, { hint, exitCode: EXIT.usage, cause: error })
  if (code === '28P01' || code === '28000')
    return say(`the database refused the login: ${messageOf(error)}`, `check user and password in ${where}`)
  if (code === '3D000') return say(`${messageOf(error)} (${where})`, 'create it with: createdb NAME')
  if (code === 'ERR_INVALID_URL') return badUrl(url)
  if (isConnectionError(error))
    return say(`cannot reach the database at ${where}: ${messageOf(error)}`, 'is the server up, and is DATABASE_URL right?')
  return error
}

function badUrl(url: string): UsageError {
  return new UsageError(`not a database URL: ${maskPassword(url)}`, 'write it as postgres://user:password@host:5432/database')
}

/** The state engine's way to the database, inside a transaction or on the pool. Not by name: a pooler in between must stay possible. */
export function kyselySql(db: Database): Sql {
  return {
    query: async <Row>({ text }: { readonly text: string }, values: readonly unknown[]) =>
      (await db.executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows,
  }
}

/** A database URL that may be shown: the password replaced by stars. */
export function maskPassword(url: string): string {
  return url.replace(/(:\/\/[^:/@]*):[^@]*@/, '$1:***@')
}
