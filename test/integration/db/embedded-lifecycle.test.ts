import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import postgres from 'postgres'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { forPostgresJs } from '../../../src/db/connection-url.ts'
import { type ServerAddress, serverStatus, stopServer, urlOf } from '../../../src/db/embedded/server.ts'

/** A user of the server: a real process that enters, says so, and leaves on a line of input. */
const USER = `
  const { enterServer } = await import(
    ${JSON.stringify(new URL('../../../src/db/embedded/server.ts', import.meta.url).href)})
  const say = (value) => console.log(JSON.stringify(value))
  process.stdin.once('data', async () => { say(await lease.leave()); process.exit() })
  process.on('SIGINT', () => undefined)
  const lease = await enterServer(process.argv[1]).catch((error) => { say({ error: error.message }); process.exit(1) })
  say({ how: lease.how, address: lease.address })
`
type Said = { how?: string; address?: ServerAddress; stopped?: boolean; error?: string }

let root: string
let data: string
const running = new Set<ChildProcess>()

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'embedded-'))
  // The server's own user must be able to come in; the data directory itself stays as it is made.
  chmodSync(root, 0o755)
  process.env['ARCHIVEBOX_SERVER_DIR'] = join(root, 'server')
  data = join(root, 'data')
})

afterEach(async () => {
  for (const child of running) child.kill('SIGKILL')
  await Promise.all([...running].map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
  running.clear()
  await stopServer(data, { force: true })
  rmSync(root, { recursive: true, force: true })
})

function user(options: { detached?: boolean; env?: NodeJS.ProcessEnv; through?: string[] } = {}) {
  const { detached = false, env = process.env, through = [] } = options
  const [program, ...args] = [...through, process.execPath, '--input-type=module', '-e', USER, data]
  const child = spawn(program!, args, { detached, env, stdio: ['pipe', 'pipe', 'inherit'] })
  running.add(child)
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const next = async (): Promise<Said> =>
    JSON.parse((await lines.next()).value ?? '{"error":"it ended without a word"}') as Said
  const leave = async () => {
    child.stdin!.write('leave\n')
    return (await next()).stopped
  }
  return {
    pid: child.pid!,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    gone: once(child, 'exit'),
    next,
    leave,
  }
}

async function query(sql: string): Promise<Record<string, unknown>[]> {
  const { address } = await serverStatus(data)
  const client = new pg.Client({ connectionString: urlOf(address!) })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

async function until(fact: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!(await fact())) {
    if (Date.now() > deadline) throw new Error(`still not so: ${what}`)
    await delay(5)
  }
}

const starts = () => readFileSync(join(data, 'logs', 'postgres.log'), 'utf8').match(/starting PostgreSQL/g)?.length

test('the first one makes it, the second adopts it, both drivers get in, and the last one out stops it', async () => {
  expect(await serverStatus(data)).toMatchObject({ state: 'absent', pid: null, address: null })
  const first = user()
  const { how, address } = await first.next()
  expect(how).toBe('initialised')
  const second = user()
  expect(await second.next()).toEqual({ how: 'adopted', address })
  const { state, pid, majorVersion } = await serverStatus(data)
  expect([state, majorVersion]).toEqual(['running', 18])

  const settings = await query(
    `select current_user, current_database(), current_setting('fsync') as fsync,
      current_setting('synchronous_commit') as commit,
            current_setting('data_checksums') as checksums, current_setting('listen_addresses') as tcp,
              current_setting('server_encoding') as encoding`,
  )
  expect(settings).toEqual([
    {
      current_user: 'archivebox',
      current_database: 'archivebox',
      fsync: 'on',
      commit: 'on',
      checksums: 'on',
      tcp: '',
      encoding: 'UTF8',
    },
  ])
  const sql = postgres(forPostgresJs(urlOf(address!)))
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }])
  await sql.end()

  // Nobody's child, in a session of its own, with nothing of ours but its log.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')
  expect(stat.slice(4, 6)).toEqual([String(pid), String(pid)])
  expect([String(first.pid), String(process.pid)]).not.toContain(stat[3])

  expect(await first.leave()).toBe(false)
  expect((await serverStatus(data)).pid).toBe(pid)
  expect(await second.leave()).toBe(true)
  expect(await serverStatus(data)).toMatchObject({ state: 'stopped', pid: null, address: null })

  const third = user()
  expect((await third.next()).how).toBe('started')
  expect(await third.leave()).toBe(true)
})

test('ten that come first at the same moment get one server', async () => {
  const users = Array.from({ length: 10 }, () => user())
  const said = await Promise.all(users.map((one) => one.next()))
  expect(said.map(({ how, error }) => how ?? error).sort()).toEqual([...Array(9).fill('adopted'), 'initialised'])
  expect(starts()).toBe(1)
  const left = await Promise.all(users.map((one) => one.leave()))
  expect(left.filter(Boolean)).toEqual([true])
  expect((await serverStatus(data)).state).toBe('stopped')
})

test('Ctrl-C to the group of whoever started it and kill -9 never touch it; the next one adopts it and stops it', async () => {
  const starter = user({ detached: true })
  await starter.next()
  const { pid } = await serverStatus(data)
  process.kill(-starter.pid, 'SIGINT')
  process.kill(-starter.pid, 'SIGKILL')
  await starter.gone
  expect(await query('select 1 as one')).toEqual([{ one: 1 }])
  const next = user()
  expect((await next.next()).how).toBe('adopted')
  expect((await serverStatus(data)).pid).toBe(pid)
  expect(await next.leave()).toBe(true)
})

test('a stopped user (SIGSTOP) keeps it up, a killed one does not', async () => {
  const [frozen, other] = [user(), user()]
  await Promise.all([frozen.next(), other.next()])
  frozen.kill('SIGSTOP')
  expect(await other.leave()).toBe(false)
  frozen.kill('SIGKILL')
  await frozen.gone
  const last = user()
  expect((await last.next()).how).toBe('adopted')
  expect(await last.leave()).toBe(true)
})

test('stopping is refused while others use it, with their number, unless forced', async () => {
  const [one, two] = [user(), user()]
  await Promise.all([one.next(), two.next()])
  await expect(stopServer(data)).rejects.toThrow(/in use by 2 other processes$/)
  expect((await serverStatus(data)).state).toBe('running')
  expect(await stopServer(data, { force: true })).toBe(true)
  expect(await stopServer(data)).toBe(false)
  expect(await one.leave()).toBe(false)
})

test('a client that holds no lease, such as psql, keeps it up too', async () => {
  const one = user()
  const { address } = await one.next()
  const client = new pg.Client({ connectionString: urlOf(address!) })
  await client.connect()
  expect(await one.leave()).toBe(false)
  await expect(stopServer(data)).rejects.toThrow(/in use by 1 connection$/)
  await client.end()
  await until(() => stopServer(data).catch(() => false), 'stopped once the client has gone')
})

test('after kill -9 of the server itself the next one starts it again, and nothing committed is lost', async () => {
  const one = user()
  await one.next()
  await query('create table kept as select 42 as answer')
  const { pid } = await serverStatus(data)
  process.kill(pid!, 'SIGKILL')
  const two = user()
  expect((await two.next()).how).toBe('started')
  expect(await query('select answer from kept')).toEqual([{ answer: 42 }])
  expect((await serverStatus(data)).pid).not.toBe(pid)
  expect(await one.leave()).toBe(false)
  expect(await two.leave()).toBe(true)
})

test('a first start that is killed while it initialises leaves nothing that the next one does not clear away', async () => {
  const killed = user({ detached: true })
  await until(
    () => existsSync(data) && readdirSync(data).some((name) => existsSync(join(data, name, 'base'))),
    'initdb at work',
  )
  killed.kill('SIGKILL')
  await killed.gone
  expect(readdirSync(data)).not.toContain('postgres')
  for (const left of ['postgres.init-of-old', 'postgres.next.init-of-old'])
    mkdirSync(join(data, left, 'base'), { recursive: true })
  const next = user()
  expect((await next.next()).how).toBe('initialised')
  expect(readdirSync(data).sort()).toEqual(['.postgres-lock', '.postgres-users', 'logs', 'postgres'])
  expect(await next.leave()).toBe(true)
})

test('a stale postmaster.pid whose pid another user has by now is none of a server, off Linux, too', () => {
  const source = `
    const { isAlive } = await import(
      ${JSON.stringify(new URL('../../../src/db/embedded/postmaster.ts', import.meta.url).href)})
    Object.defineProperty(process, 'platform', { value: 'darwin' })
    if (process.getuid() === 0) process.setuid(65534)
    console.log(isAlive({ pid: 1, status: 'ready' }, '/'))`
  expect(execFileSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' })).toBe('false\n')
})

test.skipIf(process.platform !== 'linux')(
  'the server inherits neither what was left open to its starter (a cron job 200>lock) nor its environment',
  async () => {
    const lock = join(root, 'lock')
    const one = user({
      through: ['bash', '--norc', '-c', `exec 200>"${lock}"; exec "$@"`, 'bash'],
      env: { ...process.env, SECRET_OF_OURS: 'x' },
    })
    await one.next()
    const open = (pid: number) => readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
    expect(open(one.pid)).toContain(lock)
    const { pid } = await serverStatus(data)
    expect(open(pid!).filter((file) => file.startsWith(root))).toEqual(
      expect.arrayContaining([join(data, 'logs', 'postgres.log')]),
    )
    expect(open(pid!)).not.toContain(lock)
    expect(open(pid!)).not.toContain(join(data, '.postgres-users'))
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('SECRET_OF_OURS')
    expect(await one.leave()).toBe(true)
  },
)

test('without flock it still starts once, and the last one out stops it', async () => {
  // A PATH with everything that is needed but flock.
  const bin = join(root, 'bin')
  mkdirSync(bin)
  symlinkSync(execFileSync('sh', ['-c', 'command -v sync'], { encoding: 'utf8' }).trim(), join(bin, 'sync'))
  const env = { ...process.env, PATH: bin }
  const users = [user({ env }), user({ env }), user({ env })]
  const said = await Promise.all(users.map((one) => one.next()))
  expect(said.map(({ how, error }) => how ?? error).sort()).toEqual(['adopted', 'adopted', 'initialised'])
  expect(starts()).toBe(1)
  const client = new pg.Client({ connectionString: urlOf(said[0]!.address!) })
  await client.connect()
  expect([await users[0]!.leave(), await users[1]!.leave()]).toEqual([false, false])
  await client.end()
  expect(await users[2]!.leave()).toBe(true)
})
