import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { withPrograms } from '../../support/bare-path.ts'
import { failpoints } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { expectOneAtATime, openRows, pidsOf, sealedCrawl } from '../../support/observer.ts'
import { plugin } from '../../support/plugins.ts'
import { isThere, processesOf } from '../../support/processes.ts'
import { eventually, NODE, type Running } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const PAGES = 6
const PLUGINS = 'headers,title,oracle,family'
const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(pages(PAGES))
})
afterAll(() => site.close())

async function queued(): Promise<{ home: TestHome; crawl: string }> {
  const home = await homes.make()
  home.install('oracle', 'family')
  const crawl = await home.add(
    '--depth',
    '1',
    '--plugins',
    `${PLUGINS},parse_html_urls`,
    '-c',
    'FAMILY_SECONDS=0.1',
    `${site.url}/`,
  )
  return { home, crawl }
}

async function expectAllArchived(home: TestHome, crawl: string): Promise<void> {
  expect(await expectComplete(home, crawl)).toHaveLength(PAGES + 1)
  expect((await resultsOf(home, crawl)).filter(({ status }) => status !== 'succeeded')).toEqual([])
  expectOneAtATime(home)
}

async function leave(runner: Running): Promise<void> {
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
}

describe.concurrent('a defect that nobody caught, in the leader', () => {
  it('is said, and ends it with 70; its workers and hooks end, its rows are closed, and the next one goes on', async () => {
    const { home, crawl } = await queued()
    // Once, among all processes of this home, and as soon as a second guardian is up: in the middle of the work.
    const runner = home.start(['run'], { env: failpoints(home, 'guardian.up=reject@2') })
    await eventually(async () => (await pidsOf(home, 'hook')).length > 0)
    const guardian = processesOf(home.dataDir).find(({ command }) => command.includes('archivebox-ts-guardian'))
    process.kill(guardian!.pid, 'SIGKILL')
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(70)
    expect(stderr).toMatch(/a defect of archivebox-ts, exiting at once: Error: failpoint guardian\.up/)
    await eventually(async () => (await openRows(home)).length === 0)
    await eventually(() => processesOf(home.dataDir).length === 0)
    const next = home.start(['run'])
    await sealedCrawl(home, crawl)
    await leave(next)
    await expectAllArchived(home, crawl)
  })
})

describe.concurrent('an event loop that stands still in the leader', () => {
  it('makes its heartbeat old, and nothing else renews it; afterwards it goes on leading', async () => {
    const home = await homes.make()
    const runner = home.start(['run'], { env: { ARCHIVEBOX_FAILPOINTS: 'heartbeat.beaten=block:9000@2' } })
    await runner.says(/leading/)
    const age = "select extract(epoch from now() - heartbeat_at) > 11 from process where worker_type = 'worker_runner'"
    await eventually(() => home.value<boolean>(age))
    await eventually(async () => !(await home.value<boolean>(age)))
    const crawl = await home.add('--plugins', 'headers', `${site.url}/page-1.html`)
    await sealedCrawl(home, crawl)
    await leave(runner)
    expect(await home.value('select max(term) from runner_term')).toBe('1')
  })

  it('for longer than it may trust its lead ends it with 70: its workers go, and a standby takes over', async () => {
    const { home, crawl } = await queued()
    await home.query("update crawl set config = jsonb_set(config, '{env,FAMILY_SECONDS}', '\"1000\"')")
    const leader = home.start(['run'], { env: { ARCHIVEBOX_FAILPOINTS: 'heartbeat.beaten=block:600000@3' } })
    await eventually(async () => (await pidsOf(home, 'snapshot')).length > 0)
    const below = processesOf(home.dataDir).filter(({ pid }) => pid !== leader.pid)
    // With so much patience that it is not the one who ends the leader.
    const heir = home.start(['run', '--standby', '--handoff-grace', '600'])
    await heir.says(/standing by/)
    const { code, signal, stderr } = await leader.finished()
    expect({ code, signal }, stderr).toEqual({ code: 70, signal: null })
    expect(stderr).toMatch(/watchdog: the loop has been silent for 25000 ms, ending process \d+ with exit code 70/)
    await home.query("update crawl set config = jsonb_set(config, '{env,FAMILY_SECONDS}', '\"0.1\"')")
    await heir.says(/leading \(term 2/)
    await eventually(() => below.every(({ pid }) => !isThere(pid)))
    await sealedCrawl(home, crawl)
    expectOneAtATime(home)
    await leave(heir)
    expect(await openRows(home)).toEqual([])
  })
})

describe.concurrent('a clock that is set back an hour in the middle of the work', () => {
  it('changes nothing for leases, timeouts, liveness and takeovers', async () => {
    const { home, crawl } = await queued()
    const clock = join(home.dataDir, 'clock.mjs')
    writeFileSync(
      clock,
      `const Real = Date
      const begun = performance.now()
      const now = () => Real.now() - (performance.now() - begun > 700 ? 3_600_000 : 0)
      globalThis.Date = class extends Real {
        constructor(...given) { given.length > 0 ? super(...given) : super(now()) }
        static now() { return now() }
      }`,
    )
    const env = { NODE_OPTIONS: `--import ${clock}` }
    const first = home.start(['run'], { env })
    // Not its hooks: one that is shorter than a look by `ps` is never seen running.
    await eventually(async () => (await pidsOf(home, 'snapshot')).length > 0)
    const second = home.start(['run'], { env })
    await second.says(/leading \(term 2\)/)
    expect((await first.finished()).code).toBe(0)
    await sealedCrawl(home, crawl)
    await leave(second)
    await expectAllArchived(home, crawl)
  })
})

describe.concurrent('too few file descriptors (EMFILE)', () => {
  /** How many a process may have from now on; what it has it keeps. */
  const allow = (pid: number, files: number) => execFileSync('prlimit', ['--pid', String(pid), `--nofile=${files}:`])

  it('in the leader: it goes on leading, and starts workers when it can again', async () => {
    const home = await homes.make()
    const runner = home.start(['run'])
    await runner.says(/leading/)
    // Its guardian is up by the end of a first piece of work.
    await sealedCrawl(home, await home.add('--plugins', 'headers', `${site.url}/page-2.html`))
    await eventually(async () => (await pidsOf(home, 'crawl')).length === 0)
    allow(runner.pid, 10)
    const crawl = await home.add('--plugins', 'headers', `${site.url}/page-1.html`)
    await runner.says(/cannot start a crawl worker: spawn .*EMFILE/)
    allow(runner.pid, 1024)
    await sealedCrawl(home, crawl)
    await leave(runner)
  })

  it('in a worker: its page waits for better times, without blame', async () => {
    const { home, crawl } = await queued()
    const runner = home.start(['run'], { env: { MAX_SNAPSHOT_WORKERS: '1' } }) // The next page is that worker's.
    const ofHook =
      'select w.pid from process h join process w on w.id = h.parent_id where h.url is not null ' +
      "and h.status = 'running' limit 1"
    const worker = await eventually(() => home.value<number>(ofHook))
    allow(worker, 10)
    await runner.says(/snapshot \S+: .*(EMFILE|Too many open files)/)
    allow(worker, 1024)
    await sealedCrawl(home, crawl)
    await leave(runner)
    await expectAllArchived(home, crawl)
  })

  it('in a worker whose hook is out of time: its page is not given back while that hook lives', async () => {
    const home = await homes.make()
    plugin(home, 'endless', 'sleep 1000')
    const crawl = await home.add('--plugins', 'endless', '-c', 'ENDLESS_TIMEOUT=5', `${site.url}/page-1.html`)
    const runner = home.start(['run'], { env: { CONTAINMENT: 'basic' } })
    const [hook] = await eventually(async () => {
      const rows = await home.query<{ pid: number; worker: number; parent_id: string }>(`
        select h.pid, w.pid as worker, w.id as parent_id from process h join process w on w.id = h.parent_id
        where h.snapshot_id is not null and h.status = 'running'`)
      return rows.length > 0 ? rows : undefined
    })
    allow(hook!.worker, 10)
    const isGivenBack = 'select claimed_by is distinct from $1 from snapshot'
    await eventually(() => home.value<boolean>(isGivenBack, [hook!.parent_id]))
    expect(isThere(hook!.pid)).toBe(false)
    await sealedCrawl(home, crawl)
    await leave(runner)
  })
})

describe.concurrent('too many processes (EAGAIN)', () => {
  it('stop no leader: pages wait for better times, without blame', async ({ skip, onTestFinished }) => {
    const group = `/sys/fs/cgroup/pids/archivebox-ts-test-${process.pid}`
    try {
      mkdirSync(group)
      readFileSync(join(group, 'pids.max'))
    } catch (error) {
      return skip(`no control group for the number of processes: ${String(error)}`)
    }
    // Later than the test's runner is ended, which is in it.
    onTestFinished(async () => {
      await eventually(() => readFileSync(join(group, 'cgroup.procs'), 'utf8') === '')
      rmdirSync(group)
    })
    const { home, crawl } = await queued()
    const runner = home.start(['run'])
    writeFileSync(join(group, 'cgroup.procs'), String(runner.pid))
    await runner.says(/leading/)
    await eventually(async () => (await pidsOf(home, 'snapshot')).length > 0)
    writeFileSync(join(group, 'pids.max'), '1') // Those that are there stay; not one more.
    // At the latest for a second crawl, a process is needed that may not be.
    const other = await home.add('--plugins', 'headers', `${site.url}/page-1.html`)
    await runner.says(/EAGAIN|cannot start|died/)
    writeFileSync(join(group, 'pids.max'), 'max')
    for (const each of [crawl, other]) await sealedCrawl(home, each)
    await leave(runner)
    await expectAllArchived(home, crawl)
  })
})

const PS = withPrograms('ps')
describe.skipIf(PS.missing)(`where there is no /proc ${PS.missing || ''}`, { concurrent: true }, () => {
  const env = { ARCHIVEBOX_NO_PROC: '1', CONTAINMENT: 'basic', PATH: PS.path }

  it('ps-list tells who is there: a crawl is archived, and a second runner takes over', async () => {
    const { home, crawl } = await queued()
    const first = home.start(['run'], { env })
    // Not its hooks: one that is shorter than a look by `ps` is never seen running.
    await eventually(async () => (await pidsOf(home, 'snapshot')).length > 0)
    const second = home.start(['run'], { env })
    await second.says(/leading \(term 2\)/)
    expect((await first.finished()).code).toBe(0)
    await sealedCrawl(home, crawl)
    await leave(second)
    await expectAllArchived(home, crawl)
  })

  it('a hook that ignores SIGTERM is killed with its children', async () => {
    const home = await homes.make()
    home.install('family')
    await home.add(
      '--plugins',
      'family',
      '-c',
      'FAMILY_SECONDS=1000',
      '-c',
      'FAMILY_TIMEOUT=1',
      `${site.url}/page-1.html`,
    )
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env })
    expect(code, stderr).toBe(0)
    expect(await home.value('select output_str from archive_result')).toBe('timed out after 1 s')
  })
})

describe.concurrent('a pid that is given again', () => {
  it('to an innocent process: that is neither taken for the old one nor signalled', async (context) => {
    const script = join(import.meta.dirname, '..', '..', 'fixtures', 'pid-reuse.ts')
    const child = spawn('unshare', ['--pid', '--fork', '--kill-child=KILL', '--mount-proc', NODE, script], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    const hear = (text: string) => {
      said += text
    }
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', hear)
    const code = await new Promise<number | null>((resolve) => {
      child.once('error', () => resolve(null))
      child.once('close', resolve)
    })
    if (code === null || /^unshare: |EACCES|EROFS/.test(said))
      return context.skip(`no PID namespace to choose pids in: ${said}`)
    expect(code, said).toBe(0)
    expect(JSON.parse(said)).toEqual({
      samePid: true,
      liveness: 'gone',
      signalled: false,
      members: [],
      survivors: [],
      innocentLives: true,
    })
  })
})
