import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { expectOneAtATime, openRows, pidsOf } from '../../support/observer.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, type Running } from '../../support/program.ts'
import { sampled } from '../../support/seed.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(12)
})
afterAll(() => site.close())

/** What adds a crawl of twelve pages, in a home where their hook begins, and then waits until it is let go. */
async function held(): Promise<{ home: TestHome; crawl: readonly string[] }> {
  const home = await homes.make()
  home.install('oracle')
  home.hold('oracle')
  const urls = Array.from({ length: 12 }, (_, i) => `${site.url}/page-${i + 1}.html`)
  return { home, crawl: ['--plugins', 'html,oracle,hashes', '-c', 'TIMEOUT=1000', ...urls] }
}

/** Such a crawl, with a hook that is running now. */
async function working(): Promise<{ home: TestHome; crawl: string; runner: Running }> {
  const { home, crawl } = await held()
  const id = await home.add(...crawl)
  const runner = home.start(['run'])
  await atWork(home)
  return { home, crawl: id, runner }
}

const atWork = (home: TestHome) => eventually(async () => (await pidsOf(home, 'hook')).length > 0)

/** Waits until a runner has heard that it is to leave, and its workers have, too. */
async function draining(home: TestHome): Promise<void> {
  const status = "select status = 'draining' from process where worker_type = 'worker_runner'"
  await eventually(() => home.value<boolean>(status))
  await delay(300)
}

async function expectRest(home: TestHome, crawl: string): Promise<void> {
  const next = await home.run(['run', '--exit-on-idle'])
  expect(next.code, next.stderr).toBe(0)
  expect(await expectComplete(home, crawl)).toHaveLength(12)
  const results = await resultsOf(home, crawl)
  expect(results).toHaveLength(36)
  expect(results.filter(({ status }) => status !== 'succeeded')).toEqual([])
  expectOneAtATime(home)
}

/** How often the main thread of a process has had nothing to do. */
const waitsOf = (pid: number) =>
  Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

type TableLock = Awaited<ReturnType<typeof tableLock>>

/** A lock that keeps everybody away from a table, to be taken. */
async function tableLock(home: TestHome, table: string) {
  const client = new pg.Client({ connectionString: home.databaseUrl })
  await client.connect()
  let ended: Promise<void> | undefined
  return {
    take: () => client.query(`begin; lock table ${table} in access exclusive mode`),
    isAwaited: () =>
      eventually(() =>
        home.value(
          `select true from pg_locks l join pg_database d on d.oid = l.database
           where not granted and datname = current_database() and relation = '${table}'::regclass`,
        ),
      ),
    end: () => (ended ??= client.end()),
  }
}

describe.concurrent('a runner', () => {
  it.each(sampled(['SIGINT', 'SIGTERM', 'SIGHUP'] as const, 1, 'ends'))(
    'that gets %s lets the running hook end, keeps its result, and leaves with 0',
    async (signal) => {
      const { home, crawl, runner } = await working()
      runner.signal(signal)
      await runner.says(/draining/)
      await draining(home)
      home.letGo('oracle')
      const { code, stderr } = await runner.finished()
      expect(code, stderr).toBe(0)
      expect(stderr).toContain('drained')
      expect(processesOf(home.dataDir)).toEqual([])
      expect(await openRows(home)).toEqual([])
      const done = await home.query("select status from archive_result where plugin = 'oracle' and status <> 'queued'")
      expect(done.length).toBeGreaterThan(0)
      expect(done.every(({ status }) => status === 'succeeded')).toBe(true)
      expect(Number(await home.value("select count(*) from snapshot where status <> 'sealed'"))).toBeGreaterThan(0)
      expect(await home.value('select count(*) from snapshot where claimed_by is not null')).toBe('0')
      await expectRest(home, crawl)
    },
  )

  it('that gets a second SIGINT kills its hooks and leaves with 130, and the next run does them again', async () => {
    const { home, crawl, runner } = await working()
    runner.signal('SIGINT')
    await runner.says(/draining/)
    await draining(home) // Two presses within 150 ms count as one.
    runner.signal('SIGINT')
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(130)
    expect(stderr).toContain('killing hooks now')
    expect(processesOf(home.dataDir)).toEqual([])
    expect(await openRows(home)).toEqual([])
    expect(await home.query("select id from archive_result where status in ('started', 'failed')")).toEqual([])
    home.letGo('oracle')
    await expectRest(home, crawl)
  })

  it('that gets a third SIGINT exits at once, and the next run reaps and completes', async () => {
    const { home, crawl, runner } = await working()
    const workers = [...(await pidsOf(home, 'crawl')), ...(await pidsOf(home, 'snapshot'))]
    for (const pid of workers) process.kill(pid, 'SIGSTOP') // So that neither a drain nor a force comes to its end.
    for (const said of [/draining/, /killing hooks now/, /exiting at once/]) {
      runner.signal('SIGINT')
      await runner.says(said)
      await delay(200)
    }
    expect((await runner.finished()).code).toBe(130)
    home.letGo('oracle')
    await expectRest(home, crawl)
    expect(await openRows(home)).toEqual([])
  })

  it('that is idle leaves with 0 at the first signal', async () => {
    const home = await homes.make()
    const runner = home.start(['run'])
    await runner.says(/leading/)
    runner.signal('SIGINT')
    expect((await runner.finished()).code).toBe(0)
    expect(await home.query("select status, exit_code from process where worker_type = 'worker_runner'")).toEqual([
      { status: 'exited', exit_code: 0 },
    ])
  })
})

describe.concurrent('add --run', () => {
  it('that gets SIGINT while it looks who else runs its crawl starts no runner', async () => {
    const home = await homes.make()
    // One lock after the other leads it to where it looks.
    const locks = await Promise.all(['snapshot', 'process'].map((table) => tableLock(home, table)))
    const [pages, processes] = locks as [TableLock, TableLock]
    try {
      await pages.take()
      const add = home.start(['add', '--run', '--again', '--plugins', 'headers', `${site.url}/page-1.html`])
      await pages.isAwaited()
      await processes.take()
      await pages.end()
      await processes.isAwaited()
      const before = waitsOf(add.pid)
      add.signal('SIGINT')
      await eventually(() => waitsOf(add.pid) > before)
      await delay(100) // Its loop has heard of it.
      await processes.end()
      const { code, stderr } = await add.finished()
      expect(code, stderr).toBe(130)
      expect(await home.query('select status from crawl')).toEqual([{ status: 'queued' }])
    } finally {
      await Promise.all(locks.map((lock) => lock.end()))
    }
  })

  it('that gets SIGINT drains, says how to go on, and leaves the rest for the next run', async () => {
    const { home, crawl } = await held()
    const add = home.start(['add', '--run', ...crawl])
    await atWork(home)
    add.signal('SIGINT')
    await draining(home)
    home.letGo('oracle')
    const { code, stderr } = await add.finished()
    expect(stderr).toMatch(/stopped before the end.*goes on with crawl/)
    expect(code, stderr).not.toBe(0)
    expect(processesOf(home.dataDir)).toEqual([])
    await expectRest(home, await home.value<string>('select id from crawl'))
  })

  it.each([
    ['may finish', '1'],
    ['takes too long is cut off, and not to blame', '0'],
  ])(
    'that is killed with -9 takes its runner along: a hook that runs, and %s; the rest is due again',
    async (what, finished) => {
      const { home, crawl } = await held()
      const add = home.start(['add', '--run', ...crawl], { env: { MAX_SNAPSHOT_WORKERS: '1' } })
      await atWork(home)
      add.signal('SIGKILL')
      expect((await add.finished()).signal).toBe('SIGKILL')
      await draining(home)
      if (what === 'may finish') home.letGo('oracle')
      await eventually(() => processesOf(home.dataDir).length === 0)
      expect(
        await home.value("select count(*) from archive_result where status = 'succeeded' and plugin = 'oracle'"),
      ).toBe(finished)
      expect(await home.query("select plugin, output_str from archive_result where status = 'failed'")).toEqual([])
      expect(await home.query('select max(attempts) from snapshot')).toEqual([{ max: 0 }])
      expect(await home.query("select status, exit_code from process where process_type = 'orchestrator'")).toEqual([
        { status: 'exited', exit_code: 0 },
      ])
      expect(await home.value('select retry_at <= now() from crawl')).toBe(true)
      if (what !== 'may finish') home.letGo('oracle')
      await expectRest(home, await home.value<string>('select id from crawl'))
      expect(await openRows(home)).toEqual([])
    },
  )

  it('whose shell goes away (SIGHUP) passes that on, drains and leaves', async () => {
    const { home, crawl } = await held()
    const add = home.start(['add', '--run', ...crawl])
    await atWork(home)
    add.signal('SIGHUP')
    await draining(home)
    home.letGo('oracle')
    const { code, stderr } = await add.finished()
    expect(code, stderr).toBe(130)
    expect(processesOf(home.dataDir)).toEqual([])
    await expectRest(home, await home.value<string>('select id from crawl'))
  })
})
