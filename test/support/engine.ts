import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import pg from 'pg'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { enterServer, type ServerLease, urlOf } from '../../src/db/embedded/server.ts'
import { pgSql, type Runner, type Sql, type Summary } from '../../src/engine/index.ts'
import { GIVEN_SERVER, withDatabase } from './given-server.ts'
import { newFolder } from './homes.ts'
import { eventually } from './program.ts'

type Row = Record<string, unknown>

/** A database of one test. */
export class TestDatabase {
  readonly url: string
  readonly pool: pg.Pool
  readonly sql: Sql

  constructor(url: string) {
    this.url = url
    this.pool = new pg.Pool({ connectionString: url, max: 8 })
    this.pool.on('error', () => {}) // Some tests end their connections.
    this.sql = pgSql(this.pool)
  }

  async query<T extends Row = Row>(text: string, values: readonly unknown[] = []): Promise<T[]> {
    return (await this.pool.query<T>(text, [...values])).rows
  }

  /** The one value of a query. */
  async value<T>(text: string, values: readonly unknown[] = []): Promise<T> {
    const [row] = await this.query(text, values)
    return Object.values(row ?? {})[0] as T
  }
}

/** One embedded server for the tests of a file, or the one that was given, and an empty database for each of them. */
export function useDatabases(): { make(...statements: string[]): Promise<TestDatabase> } {
  let server: { readonly dir: string; readonly lease: ServerLease } | undefined
  let url = ''
  let admin: pg.Pool | undefined
  let made: TestDatabase[] = []

  beforeAll(async () => {
    if (GIVEN_SERVER === undefined) {
      const dir = newFolder()
      server = { dir, lease: await enterServer(dir) }
    }
    url = GIVEN_SERVER ?? urlOf(server!.lease.address)
    admin = new pg.Pool({ connectionString: url, max: 1 })
    admin.on('error', () => {})
  })

  afterEach(async () => {
    for (const { pool } of made) await pool.end()
    made = []
  })

  afterAll(async () => {
    await admin?.end()
    await server?.lease.leave()
    if (server) rmSync(server.dir, { recursive: true, force: true })
  })

  return {
    async make(...statements) {
      const name = `engine_${randomUUID().slice(-12)}`
      await admin!.query(`create database ${name}`)
      const database = new TestDatabase(withDatabase(url, name))
      made.push(database)
      for (const statement of statements) await database.query(statement)
      return database
    },
  }
}

/** A promise that a test resolves. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** Runs a runner until `isOver` says so, or fails after a while; then drains it. */
export async function runUntil(runner: Runner, isOver: () => unknown): Promise<Summary> {
  const stop = new AbortController()
  const running = runner.run({ signal: stop.signal })
  try {
    await eventually(isOver)
  } finally {
    stop.abort()
  }
  return await running
}
