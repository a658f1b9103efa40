import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { pgSql, type Runner, type Sql, type Summary } from '../../src/engine/index.ts'
import { perTest } from './per-test.ts'
import { eventually } from './program.ts'
import { copyingFiles, serverUrl, withDatabase } from './server.ts'

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

  /** The single value of a query. */
  async value<T>(text: string, values: readonly unknown[] = []): Promise<T> {
    const [row] = await this.query(text, values)
    return Object.values(row ?? {})[0] as T
  }
}

/** An empty database for each test of a file, on the server of this test run. */
export function useDatabases(): { make(...statements: string[]): Promise<TestDatabase> } {
  let admin: pg.Pool
  const made = perTest<TestDatabase[]>(
    () => [],
    async (databases) => {
      for (const { pool, url } of databases) {
        await pool.end()
        await admin.query(`drop database ${new URL(url).pathname.slice(1)} with (force)`)
      }
    },
  )

  beforeAll(() => {
    admin = new pg.Pool({ connectionString: serverUrl(), max: 1 })
    admin.on('error', () => {})
  })

  afterAll(async () => {
    await admin.end()
  })

  return {
    async make(...statements) {
      const name = `engine_${randomUUID().slice(-12)}`
      await admin.query(`create database ${name} ${copyingFiles()}`)
      const database = new TestDatabase(withDatabase(serverUrl(), name))
      made().push(database)
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

/** Runs a runner until `isOver` returns true, or fails after a while; then drains it. */
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
