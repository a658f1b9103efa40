import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import pg from 'pg'
import { afterAll, expect } from 'vitest'
import { dataDirId } from '../../src/base/data-dir-id.ts'
import { newFolder } from './folders.ts'
import { perTest } from './per-test.ts'
import { killAll, processesOf, type Seen, shortWaysTo } from './processes.ts'
import { type Call, eventually, type Finished, program, ROOT, type Running, start } from './program.ts'
import { brokenPromises } from './promises.ts'
import { copyingFiles, serverUrl, type Template, template, withDatabase } from './server.ts'

export { newFolder } from './folders.ts'

/** How long the remains of a runner may take to be gone. */
const GONE_MS = 30_000

/** The name of the connections of `TestHome.query` on the server. */
export const POOL_NAME = "the test's own queries"

type Row = Record<string, unknown>

/** A data dir of one test, with its own database. */
export class TestHome {
  readonly dataDir: string
  readonly databaseUrl: string
  readonly started: Running[] = []
  /** The commands that have run to their end. */
  readonly ran: (Pick<Finished, 'code' | 'stderr'> & { readonly args: readonly string[] })[] = []
  readonly #env: Readonly<Record<string, string>>
  #pool: pg.Pool | undefined

  constructor(dataDir: string, databaseUrl: string, env: Readonly<Record<string, string>>) {
    this.dataDir = dataDir
    this.databaseUrl = databaseUrl
    this.#env = env
  }

  /** Runs a command on this data dir to its end. */
  async run(args: readonly string[], call: Call = {}): Promise<Finished> {
    const finished = await program(args, this.#with(call))
    this.ran.push({ args, code: finished.code, stderr: finished.stderr })
    return finished
  }

  /** Starts a command on this data dir. */
  start(args: readonly string[], call: Call = {}): Running {
    const running = start(args, this.#with(call))
    this.started.push(running)
    return running
  }

  /** Queues URLs, including those archived before. @returns the id of the crawl */
  async add(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(['add', '--again', ...args])
    expect(code, stderr).toBe(0)
    return (JSON.parse(stdout) as { id: string }).id
  }

  /** Kills a runner, and waits until nothing of it is left: its hooks, and then its workers, end a moment later. */
  async kill(runner: Running): Promise<void> {
    runner.signal('SIGKILL')
    await runner.finished()
    await eventually(() => processesOf(this.dataDir).length === 0)
  }

  async query<T extends Row = Row>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    this.#pool ??= poolOf(this.databaseUrl)
    return (await this.#pool.query<T>(sql, [...values])).rows
  }

  /** The single value of a query. */
  async value<T>(sql: string, values: readonly unknown[] = []): Promise<T> {
    const [row] = await this.query(sql, values)
    return Object.values(row ?? {})[0] as T
  }

  /** Copies fixture plugins into the data dir's own plugin folder. */
  install(...plugins: string[]): void {
    for (const name of plugins) {
      cpSync(join(ROOT, 'test', 'fixtures', 'plugins', name), join(this.dataDir, 'plugins', name), { recursive: true })
    }
  }

  /** Makes the hooks of this fixture pause in the middle until they are released. */
  hold(fixture: 'oracle' | 'slow'): void {
    writeFileSync(join(this.dataDir, `hold-${fixture}`), '')
  }

  letGo(fixture: 'oracle' | 'slow'): void {
    rmSync(join(this.dataDir, `hold-${fixture}`))
  }

  async close(): Promise<void> {
    const pool = this.#pool
    this.#pool = undefined
    await pool?.end()
  }

  #with(call: Call): Call {
    return { ...call, env: { ...this.#env, DATA_DIR: this.dataDir, DATABASE_URL: this.databaseUrl, ...call.env } }
  }
}

function poolOf(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 2, application_name: POOL_NAME })
  pool.on('error', () => {}) // Tests also end servers.
  return pool
}

export interface Homes {
  readonly serverUrl: string
  /** Makes a home with these fixture plugins, which is removed after the test. */
  make(...plugins: string[]): Promise<TestHome>
  /** Makes a home for cloning, which is removed after the last test of the file. */
  original(): Promise<TestHome>
  /** Makes another home with the rows and plugins of this one, at the price of a file copy. The caller discards it. */
  clone(original: TestHome): Promise<TestHome>
  discard(home: TestHome): Promise<void>
}

/**
 * Homes for the tests of one file, each with its own database on the server of this test run. After each test, checks
 * that no promise about rows is broken and that nothing of it still runs.
 */
export function useHomes(env: Readonly<Record<string, string>> = {}): Homes {
  const originals: TestHome[] = []
  let pool: pg.Pool | undefined
  const admin = () => {
    pool ??= poolOf(serverUrl())
    return pool
  }

  const homes = perTest<TestHome[]>(
    () => [],
    async (made, failed) => {
      if (failed) for (const home of made) await tellWhatBecameOf(home)
      try {
        for (const home of made) if (!failed) await expectNothingLeft(home)
      } finally {
        for (const home of made) await remove(home)
      }
    },
  )

  afterAll(async () => {
    for (const home of originals) await remove(home)
    await pool?.end()
  })

  /** Whatever the outcome, nothing of this home stays. */
  const remove = async (home: TestHome) => {
    await end(home)
    await admin().query(`drop database "${databaseOf(home)}" with (force)`)
  }

  /** Makes a separate home by copying one. */
  const copy = async ({ dataDir, database }: Template) => {
    const dir = newFolder()
    const name = `test_${dir.slice(-6).toLowerCase()}`
    await admin().query(`create database "${name}" template "${database}" ${copyingFiles()}`)
    cpSync(dataDir, dir, { recursive: true, filter: (file) => basename(file) !== '.archivebox-id' })
    const id = await dataDirId(dir, () => {})
    const home = new TestHome(dir, withDatabase(serverUrl(), name), env)
    await home.query('update process set data_dir_id = $1, pwd = $2', [id, dir]) // Not the original's.
    await home.query('update lead set data_dir_id = $1', [id])
    await home.query('update node set id = $1', [id])
    await home.query('update archive_result set node_id = $1 where node_id is not null', [id])
    for (const table of ['snapshot', 'crawl'])
      await home.query(`update ${table} set home_node = $1 where home_node is not null`, [id])
    return home
  }

  return {
    get serverUrl() {
      return serverUrl()
    },
    async make(...plugins) {
      const home = await copy(template())
      home.install(...plugins)
      homes().push(home)
      return home
    },
    async original() {
      const home = await copy(template())
      originals.push(home)
      return home
    },
    async clone(original) {
      await original.close() // A database can be copied only while nothing is connected to it.
      return await copy({ dataDir: original.dataDir, database: databaseOf(original) })
    },
    discard: remove,
  }
}

const databaseOf = (home: TestHome) => new URL(home.databaseUrl).pathname.slice(1)

/** How many characters of a program's output are shown when its test has failed. */
const SAID = 4_000

/** A failure that happens once in a hundred runs, elsewhere, must be understandable from its report alone. */
async function tellWhatBecameOf(home: TestHome): Promise<void> {
  for (const { stderr, args, isOver } of home.started)
    console.error(`${args.join(' ')} (${isOver ? 'over' : 'running'}) said:\n${stderr.slice(-SAID)}`)
  for (const { args, code, stderr } of home.ran)
    console.error(`${args.join(' ')} (exit code ${code}) said:\n${stderr.slice(-SAID)}`)
  const rows = {
    process:
      'select seq, process_type, worker_type, status, pid, exit_code, exit_signal, ended_at from process ' +
      'order by seq desc limit 12',
    crawl: 'select id, status, retry_at, attempts, next_part, message from crawl order by id desc limit 12',
    snapshot: 'select url, status, outcome, cause, retry_at, attempts from snapshot order by id desc limit 12',
  }
  const there = processesOf(home.dataDir).map(({ pid, command }) => `${pid} ${command.slice(0, 200)}`)
  for (const [table, select] of Object.entries(rows))
    console.error(`${table} rows:`, await home.query(select).catch(String))
  console.error('processes:', there)
}

async function expectNothingLeft(home: TestHome): Promise<void> {
  let left: Seen[] = []
  const none = () => {
    left = processesOf(home.dataDir)
    return left.length === 0
  }
  await eventually(none, GONE_MS).catch(() => {})
  expect(
    left.map(({ command }) => command),
    'left running',
  ).toEqual([])
  expect(shortWaysTo(home.dataDir)).toEqual([])
  expect(await brokenPromises(home)).toEqual([])
}

/** Ends everything that runs on a home, and removes its files. */
async function end(home: TestHome): Promise<void> {
  await eventually(() => {
    const left = processesOf(home.dataDir)
    killAll(left)
    return left.length === 0
  })
  await home.close()
  rmSync(home.dataDir, { recursive: true, force: true })
}
