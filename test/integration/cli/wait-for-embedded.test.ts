import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { newFolder } from '../../support/homes.ts'
import { perTest } from '../../support/per-test.ts'
import { isThere, killAll, processesOf } from '../../support/processes.ts'
import { type Call, eventually, type Finished, program, type Running, start } from '../../support/program.ts'
import { sampled } from '../../support/seed.ts'

// The embedded server, killed with -9, is held in its recovery by the restore command that recovery begins with.
const WAITS = /^the database is not ready yet, waiting for it \(up to \d+ s\): ./m
const GOES_ON = /^the database is ready after \d+ s$/m
/** A data dir whose server is up, and what a test has started and stopped there. */
interface Scene {
  readonly dataDir: string
  readonly url: string
  readonly held: Set<number>
  readonly started: Running[]
}

async function serving(): Promise<Scene> {
  const dataDir = newFolder()
  const cli = (...args: string[]) => program(args, { env: { DATA_DIR: dataDir } })
  for (const args of [['init'], ['db', 'start']]) {
    const { code, stderr } = await cli(...args)
    expect(code, stderr).toBe(0)
  }
  return { dataDir, url: (await cli('db', 'url')).stdout.trim(), held: new Set(), started: [] }
}

const here = perTest(serving, async ({ dataDir, started }) => {
  for (const one of started) if (!one.isOver) one.signal('SIGKILL')
  release()
  await cli(['db', 'stop', '--force'])
  const left = processesOf(dataDir)
  killAll(left)
  rmSync(dataDir, { recursive: true, force: true })
  expect(left.map(({ command }) => command)).toEqual([])
})

const withDir = (call: Call): Call => ({ ...call, env: { DATA_DIR: here().dataDir, ...call.env } })
const cli = (args: readonly string[], call: Call = {}) => program(args, withDir(call))

function begin(args: readonly string[], call: Call = {}): Running {
  const running = start(args, withDir(call))
  here().started.push(running)
  return running
}

const postmaster = () => Number(readFileSync(join(here().dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
/** Whoever starts another server removes the file first. */
const isReplaced = (killed: number) => {
  try {
    return postmaster() !== killed
  } catch {
    return false
  }
}
const servers = () => processesOf(here().dataDir).filter(({ command }) => command.includes('postgres'))

/** Nobody wants the server to stay up when it is not used. */
const forgetDbStart = () => rmSync(join(here().dataDir, '.postgres-keep'))

const aside = (name: string) => join(here().dataDir, 'postgres', name)
/** How the server asks for what it recovers from: it says who asks, and has its answer when it is let go. */
const RESTORE = 'echo $PPID > held.new; mv held.new held; while test -e hold; do sleep 0.02; done; false'

/** Has the next recovery stand still at its beginning, where `recoveryHeld` finds it. */
async function holdNextRecovery(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: here().url })
  client.on('error', () => {})
  await client.connect()
  await client.query('create table written (n int)')
  await client.query(`alter system set restore_command = '${RESTORE}'`)
  await client.query('select pg_reload_conf()')
  for (const name of ['recovery.signal', 'hold']) writeFileSync(aside(name), '')
  return client
}

/** Kills the server with -9, and has its recovery stand still. */
async function killServer(): Promise<void> {
  const client = await holdNextRecovery()
  process.kill(postmaster(), 'SIGKILL')
  await client.end().catch(() => {})
}

/** Waits for a recovery that stands still, and stops its process: it heeds no signal either. */
async function recoveryHeld(): Promise<{ server: number; startup: number }> {
  await eventually(() => existsSync(aside('held')))
  const startup = Number(readFileSync(aside('held'), 'utf8'))
  process.kill(startup, 'SIGSTOP')
  here().held.add(startup)
  return { server: parentOf(startup), startup }
}

function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

function release(): void {
  rmSync(aside('hold'), { force: true })
  for (const pid of here().held) {
    try {
      process.kill(pid, 'SIGCONT')
    } catch {
      // It was killed, or has ended.
    }
  }
  here().held.clear()
}

function expectFine({ code, stderr }: Finished, codes: readonly number[] = [0]): void {
  expect(codes, stderr).toContain(code)
  expect(stderr).toMatch(WAITS)
  expect(stderr.match(WAITS)).toHaveLength(1)
  expect(stderr).toMatch(GOES_ON)
}

const VERBS: readonly (readonly [args: readonly string[], ...codes: number[]])[] = [
  [['init'], 0],
  [['add', 'http://127.0.0.1:1/'], 0],
  [['crawl', 'list'], 0],
  [['process', 'list'], 0],
  [['status'], 0, 3],
  [['db', 'start'], 0],
  [['run', '--maintenance-only'], 0],
]

describe.concurrent('commands that are started while the database recovers', () => {
  it('wait for it, say so, and go on, whichever they are and whenever they come', async () => {
    await killServer()
    const first = begin(['run', '--exit-on-idle'])
    await recoveryHeld()
    const rest = VERBS.map(([args]) => begin(args))
    for (const one of [first, ...rest]) await one.says(WAITS)
    const late = begin(['add', 'http://127.0.0.1:1/'])
    await late.says(WAITS)
    release()
    // One of the two runners may be superseded by the other: that is fine, too.
    for (const [index, [, ...codes]] of VERBS.entries()) expectFine(await rest[index]!.finished(), codes)
    expectFine(await late.finished())
    expect((await first.finished()).code, first.stderr).toBe(0)
    expect(first.stderr).toMatch(GOES_ON)
    // One recovery was enough for all.
    expect(readFileSync(join(here().dataDir, 'logs', 'postgres.log'), 'utf8').match(/redo starts/g)).toHaveLength(1)
  })

  it('archive, stand by and follow a crawl afterwards as if nothing had been', async () => {
    await killServer()
    const added = begin(['add', '--run', '--demo', '--plugins', 'html'])
    await recoveryHeld()
    await added.says(WAITS)
    release()
    expectFine(await added.finished())

    const again = postmaster()
    process.kill(again, 'SIGKILL')
    const both = [begin(['run', '--standby']), begin(['add', '--wait', '--plugins', 'html', 'http://127.0.0.1:1/'])]
    const [standby, follower] = both as [Running, Running]
    expect((await follower.finished()).code, follower.stderr).toBe(10)
    await standby.says(/leading/)
    standby.signal('SIGTERM')
    expect((await standby.finished()).code, standby.stderr).toBe(0)
  })

  it('that a crash of one backend brought about wait for it, too', async () => {
    const client = await holdNextRecovery()
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    process.kill(rows[0]!.pid, 'SIGKILL')
    await recoveryHeld()
    await client.end().catch(() => {})
    const status = begin(['status'])
    await status.says(WAITS)
    release()
    expectFine(await status.finished(), [3])
  })

  it('and whose server is killed again while it starts start it once more', async () => {
    await killServer()
    const add = begin(['add', 'http://127.0.0.1:1/'], { env: { WAIT_DB: '600' } })
    const { server, startup } = await recoveryHeld()
    process.kill(server, 'SIGKILL')
    process.kill(startup, 'SIGKILL')
    release()
    const { code, stderr } = await add.finished()
    expect(code, stderr).toBe(0)
  })
})

describe.concurrent('a command that has waited long enough', () => {
  it('says for what, for how long and what to do, and ends with 1; with nobody left it stops the server', async () => {
    await killServer()
    forgetDbStart()
    const status = begin(['--wait-db', '5', 'status'], { env: { WAIT_DB: '3600' } })
    await recoveryHeld()
    const { code, stdout, stderr } = await status.finished()
    expect(code, stderr).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^error: waited 5 s for the database in \S+\/postgres: .*(start|recover)/m)
    expect(stderr).toMatch(/^hint: .*--wait-db/m)
    await eventually(() => servers().length === 0)
    release()
    const after = await cli(['--wait-db', '600', 'status'])
    expect(after.code, after.stderr).toBe(3)
  })

  it('leaves the server to others who wait for it', async () => {
    await killServer()
    forgetDbStart()
    const patient = begin(['add', 'http://127.0.0.1:1/'], { env: { WAIT_DB: '600' } })
    const { server } = await recoveryHeld()
    await patient.says(WAITS)
    const hasty = await cli(['--wait-db=0', 'status'])
    expect(hasty.code, hasty.stderr).toBe(1)
    expect(hasty.stderr).not.toMatch(WAITS)
    expect((await cli(['--wait-db=1', 'crawl', 'list'])).code).toBe(1)
    expect(isThere(server)).toBe(true)
    release()
    expectFine(await patient.finished())
    await eventually(() => servers().length === 0)
  })

  it.each(sampled(['SIGINT', 'SIGTERM'] as const, 1, 'waits'))(
    'is one that %s ends: at once, with 130, and nothing is left',
    async (signal) => {
      await killServer()
      forgetDbStart()
      const run = begin(['--wait-db', '3600', 'run'])
      await recoveryHeld()
      await run.says(WAITS)
      run.signal(signal)
      const { code, stderr } = await run.finished()
      expect(code, stderr).toBe(130)
      expect(stderr).toMatch(/^error: interrupted while waiting for the database$/m)
      await eventually(() => processesOf(here().dataDir).length === 0)
      release()
    },
  )
})

describe.concurrent('a server that cannot recover', () => {
  it('is not waited for: its reason is said at once', async () => {
    await cli(['db', 'stop'])
    rmSync(join(here().dataDir, 'postgres', 'pg_wal'), { recursive: true })
    const { code, stderr } = await cli(['--wait-db', '3600', 'status'])
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(/^error: PostgreSQL did not start: .*pg_wal/m)
    expect(stderr).not.toMatch(WAITS)
  })
})

describe.concurrent('after kill -9 of the server', () => {
  it.each(sampled([['add', 'http://127.0.0.1:1/'], ['run', '--exit-on-idle'], ['status']], 1, 'server killed'))(
    '%s comes through at once, time after time',
    async (...args) => {
      for (let round = 0; round < 3; round += 1) {
        const killed = postmaster()
        process.kill(killed, 'SIGKILL')
        const { code, stderr } = await cli(args)
        expect([0, 3], `round ${round}: ${stderr}`).toContain(code)
        expect(existsSync(join(here().dataDir, 'postgres', 'postmaster.pid'))).toBe(true)
        expect(postmaster()).not.toBe(killed)
      }
    },
  )

  it('one who follows a crawl without a runner starts it again', async () => {
    const added = begin(['add', '--wait', 'http://127.0.0.1:1/'])
    await added.says(/no runner is there/)
    const killed = postmaster()
    process.kill(killed, 'SIGKILL')
    await eventually(() => isReplaced(killed))
    await eventually(async () => (await cli(['status'])).code === 3)
    expect(added.isOver, added.stderr).toBe(false)
    added.signal('SIGINT')
    expect((await added.finished()).code, added.stderr).toBe(130)
  })
})

it.concurrent('one who waits for a list has no connection: the server stops with its last user', async () => {
  forgetDbStart()
  const run = begin(['run'])
  await run.says(/leading/)
  begin(['add'], { input: null })
  await delay(1_500) // It reads by then.
  run.signal('SIGINT')
  expect((await run.finished()).code).toBe(0)
  await eventually(() => servers().length === 0)
})
