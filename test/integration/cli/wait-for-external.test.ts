import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { serverAccount } from '../../../src/db/embedded/account.ts'
import { findBinaries } from '../../../src/db/embedded/binaries.ts'
import { newFolder } from '../../support/homes.ts'
import { killAll, processesOf } from '../../support/processes.ts'
import { type Finished, program, type Running, start } from '../../support/program.ts'

// A server of somebody else's on a TCP port, which is started by hand. It is made as the cluster of another data dir.
const WAITS = /^the database is not ready yet, waiting for it \(up to \d+ s\): ./m
const GOES_ON = /^the database is ready after \d+ s$/m
let serverDir: string
let dataDir: string
let port: number
let url: string
const started: Running[] = []

beforeAll(async () => {
  serverDir = newFolder()
  const made = await program(['init'], { env: { DATA_DIR: serverDir } })
  expect(made.code, made.stderr).toBe(0)
  port = await freePort()
  url = `postgres://archivebox@127.0.0.1:${port}/archivebox?sslmode=disable`
  const file = (name: string) => join(serverDir, 'postgres', name)
  appendFileSync(file('postgresql.conf'), `listen_addresses = '127.0.0.1'\nport = ${port}\n`)
  writeFileSync(
    file('pg_hba.conf'),
    'host all guarded 127.0.0.1/32 scram-sha-256\nhost all barred 127.0.0.1/32 reject\nhost all all ' +
      '127.0.0.1/32 trust\n',
  )
})
beforeEach(() => {
  dataDir = newFolder()
  writeFileSync(join(dataDir, 'archivebox.toml'), '')
})
afterEach(() => {
  for (const one of started.splice(0)) if (!one.isOver) one.signal('SIGKILL')
  control('stop', '-m', 'immediate')
  const left = processesOf(dataDir)
  killAll(left)
  rmSync(dataDir, { recursive: true, force: true })
  expect(left.map(({ command }) => command)).toEqual([])
})
afterAll(() => rmSync(serverDir, { recursive: true, force: true }))

/** A port at which nobody listens, below those from which connections of others are given theirs. */
async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer().listen(randomInt(10_000, 32_000), '127.0.0.1')
    const isFree = await once(server, 'listening').catch(() => undefined)
    if (!isFree) continue
    const { port: free } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    return free
  }
}

/** `pg_ctl` on that cluster, as its owner. */
function control(...args: string[]): void {
  const pgdata = join(serverDir, 'postgres')
  const { uid, gid } = statSync(pgdata)
  const account = serverAccount({ uid, gid })
  try {
    execFileSync(findBinaries(account).pgCtl, [...args, '-s', '-D', pgdata, '-l', join(pgdata, 'log')], {
      cwd: '/',
      stdio: 'ignore',
      ...(account ? { uid, gid } : {}),
    })
  } catch (error) {
    if (args[0] === 'start') throw error
  }
}

const call = (databaseUrl = url) => ({ env: { DATA_DIR: dataDir, DATABASE_URL: databaseUrl, WAIT_DB: '600' } })

function begin(...args: string[]): Running {
  const running = start(args, call())
  started.push(running)
  return running
}

describe('a server that is not there yet', () => {
  it('is waited for by every command, which says so and goes on', async () => {
    const all = [
      begin('run', '--exit-on-idle'),
      begin('status'),
      begin('add', 'http://127.0.0.1:1/'),
      begin('crawl', 'list'),
      begin('db', 'status', '--database-url', url),
    ]
    for (const one of all) await one.says(WAITS)
    await delay(5_000)
    expect(all.filter(({ isOver }) => isOver)).toEqual([])
    control('start', '-w')
    for (const one of all) {
      const { code, stderr } = await one.finished()
      expect([0, 3], stderr).toContain(code)
      expect(stderr.match(WAITS)).toHaveLength(1)
      expect(stderr).toMatch(GOES_ON)
    }
  })

  it('is waited for as long as --wait-db and WAIT_DB say, the option winning; then one line, and 1', async () => {
    const began = performance.now()
    const waited = await program(['--wait-db', '2', 'status'], { env: { ...call().env, WAIT_DB: '3600' } })
    expectRefusal(
      waited,
      1,
      new RegExp(`^error: waited 2 s for the database at postgres://archivebox@127.0.0.1:${port}/\\S+: .*ECONNREFUSED`),
    )
    expect(waited.stderr).toMatch(/^hint: .*DATABASE_URL.*--wait-db/m)
    expect(performance.now() - began).toBeGreaterThan(2_000)
    const short = await program(['run'], { env: { ...call().env, WAIT_DB: '1' } })
    expectRefusal(short, 1, /^error: waited 1 s for the database/m)
  })

  it('is not waited for with 0', async () => {
    const { code, stderr } = await program(['--wait-db', '0', 'status'], call())
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(/^error: cannot reach the database at /m)
    expect(stderr).not.toMatch(WAITS)
  })

  it('behind a socket that is missing is waited for, too', async () => {
    const missing = `postgres://archivebox@${encodeURIComponent(dataDir)}/archivebox`
    expectRefusal(await program(['--wait-db', '1', 'status'], call(missing)), 1, /^error: waited 1 s for .*ENOENT/m)
  })

  it('is left at once on Ctrl-C, with 130', async () => {
    const run = begin('--wait-db', '3600', 'run')
    await run.says(WAITS)
    run.signal('SIGINT')
    expect((await run.finished()).code, run.stderr).toBe(130)
  })
})

describe('a server that is shutting down', () => {
  it('is waited for until it is back', async () => {
    control('start', '-w')
    const user = new pg.Client({ connectionString: url })
    user.on('error', () => {})
    await user.connect()
    control('stop', '-W', '-m', 'smart') // Ends when its users have left.
    const status = begin('status')
    await status.says(/waiting for it .*shutting down/)
    await user.end()
    control('stop')
    control('start', '-w')
    const { code, stderr } = await status.finished()
    expect(code, stderr).toBe(3)
    expect(stderr).toMatch(GOES_ON)
  })
})

describe('what is misconfigured', () => {
  const at = (change: (to: URL) => void) => {
    const to = new URL(url)
    change(to)
    return to.href
  }

  it('is said at once, with 2', async () => {
    control('start', '-w')
    const admin = new pg.Client({ connectionString: url })
    await admin.connect()
    await admin.query("create user guarded password 'right'").finally(() => admin.end())
    const wrong: [string, RegExp][] = [
      [at((to) => Object.assign(to, { pathname: '/nowhere' })), /"nowhere" does not exist/],
      [at((to) => Object.assign(to, { username: 'stranger' })), /refused the login.*stranger/],
      [at((to) => Object.assign(to, { username: 'barred' })), /refused the login.*pg_hba/],
      [at((to) => Object.assign(to, { username: 'guarded', password: 'wrong' })), /refused the login.*password/],
      [at((to) => Object.assign(to, { hostname: `${'x'.repeat(70)}.localhost` })), /no host/],
      [at((to) => to.searchParams.set('sslmode', 'require')), /does not encrypt/],
      ['http://127.0.0.1/', /DATABASE_URL: it takes a URL such as postgres:.*in the environment/],
    ]
    for (const [to, message] of wrong) {
      const ended = await program(['--wait-db', '3600', 'status'], call(to))
      expectRefusal(ended, 2, message)
      expect(ended.stderr).not.toMatch(WAITS)
    }
  })

  it.each(['-1', 'soon', '1e9', 'Infinity'])('is --wait-db %s', async (value) => {
    expectRefusal(await program([`--wait-db=${value}`, 'status'], call()), 2, /--wait-db.*seconds/)
    expectRefusal(await program(['status'], { env: { ...call().env, WAIT_DB: value } }), 2, /WAIT_DB.*seconds/)
  })
})

function expectRefusal({ code, stdout, stderr }: Finished, wanted: number, message: RegExp): void {
  expect(code, stderr).toBe(wanted)
  expect(stdout).toBe('')
  expect(
    stderr.split('\n').find((line) => line.startsWith('error:')),
    stderr,
  ).toMatch(message)
  expect(stderr).not.toMatch(/^\s+at /m)
}
