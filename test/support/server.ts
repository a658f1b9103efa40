import { rmSync } from 'node:fs'
import pg from 'pg'
import { enterServer, type ServerLease, urlOf } from '../../src/db/embedded/server.ts'
import { newFolder } from './folders.ts'
import { processesOf } from './processes.ts'
import { eventually, program } from './program.ts'

/** A variable from vitest's main process to those that run test files. */
const SERVER_URL = 'TEST_SERVER_URL'
const TEMPLATE = 'TEST_TEMPLATE'
const STRATEGY = 'TEST_DATABASE_STRATEGY'
/** How long a stopped server may take to be gone. */
const GONE_MS = 30_000

/** Nothing of a test run needs to survive a power cut, so nothing is flushed; and many files need many connections. */
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  max_connections: '500',
  // Every test has a database: autovacuum would scan all of them again and again.
  autovacuum: 'off',
}

/** The data dir and the database that homes are copied from. */
export interface Template {
  readonly dataDir: string
  readonly database: string
}

/** The URL of a database on the one server of this test run. */
export function serverUrl(): string {
  return handedDown(SERVER_URL)
}

export function template(): Template {
  return JSON.parse(handedDown(TEMPLATE)) as Template
}

/**
 * The end of a `create database` that copies files, if the server supports that (15). The default, which writes all
 * pages to the log, takes twice the CPU.
 */
export function copyingFiles(): string {
  return handedDown(STRATEGY)
}

/** The URL of another database on the same server. */
export function withDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}

/**
 * For vitest's globalSetup: starts one server for all files of a test run, with a template that `init` made.
 * `TEST_SERVER_URL` names another server.
 * @returns removes both, and throws when tests left databases or processes behind
 */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[TEMPLATE] !== undefined) return undefined // Another project of the same run has done it.
  const given = process.env[SERVER_URL]
  const own = given === undefined ? await startServer() : undefined
  const url = given ?? urlOf(own!.lease.address)
  const admin = new pg.Pool({ connectionString: url, max: 1, application_name: 'the tests' })
  admin.on('error', () => {})
  const dataDir = newFolder()
  const database = `template_${process.pid}`
  await admin.query(`create database ${database}`)
  const env = { DATA_DIR: dataDir, DATABASE_URL: withDatabase(url, database) }
  const { code, stderr } = await program(['init'], { env })
  if (code !== 0) throw new Error(stderr)
  process.env[SERVER_URL] = url
  process.env[STRATEGY] = own ? 'strategy file_copy' : ''
  process.env[TEMPLATE] = JSON.stringify({ dataDir, database } satisfies Template)
  return async () => {
    await admin.query(`drop database ${database} with (force)`)
    rmSync(dataDir, { recursive: true, force: true })
    const ours = "select datname from pg_database where datname ~ '^(test|engine)_'"
    const { rows } = await admin.query<{ datname: string }>(ours)
    await admin.end()
    const left = rows.map(({ datname }) => `database ${datname}`)
    if (own) left.push(...(await stopServer(own)))
    if (left.length > 0) throw new Error(`tests left behind: ${left.join(', ')}`)
  }
}

interface OwnServer {
  readonly dir: string
  readonly lease: ServerLease
}

async function startServer(): Promise<OwnServer> {
  const dir = newFolder()
  const first = await enterServer(dir)
  const admin = new pg.Client({ connectionString: urlOf(first.address) })
  await admin.connect()
  for (const [name, value] of Object.entries(SETTINGS)) await admin.query(`alter system set ${name} = ${value}`)
  await admin.end()
  await first.leave()
  return { dir, lease: await enterServer(dir) }
}

/** Stops the server. @returns what remains of it */
async function stopServer({ dir, lease }: OwnServer): Promise<string[]> {
  const { stopped } = await lease.leave()
  await eventually(() => processesOf(dir).length === 0, GONE_MS).catch(() => {})
  const left = processesOf(dir).map(({ pid, command }) => `process ${pid} ${command}`)
  rmSync(dir, { recursive: true, force: true })
  return stopped ? left : ['a server in use', ...left]
}

function handedDown(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set: run vitest with test/vitest.config.ts`)
  return value
}
