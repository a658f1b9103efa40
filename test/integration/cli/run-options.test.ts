import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, pagesOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { expectOneAtATime, openRows, pidsOf, sealedCrawl, sealedPages } from '../../support/observer.ts'
import { eventually, ROOT } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(8)
})
afterAll(() => site.close())

const urls = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `${site.url}/page-${from + i}.html`)

/** Runs to the end, which must be 0; what it said. */
async function run(home: TestHome, ...args: string[]): Promise<string> {
  const { code, stderr } = await home.run(['run', ...args])
  expect(code, stderr).toBe(0)
  return stderr
}

/** The statuses of the pages of a crawl. */
const statuses = async (home: TestHome, crawl: string) => (await pagesOf(home, crawl)).map(({ status }) => status)

/** The most hooks of the `oracle` fixture that were at work at one time. */
function mostAtOnce(home: TestHome): number {
  let now = 0
  let most = 0
  for (const line of readFileSync(join(home.dataDir, 'oracle.log'), 'utf8').trim().split('\n')) {
    now += line.startsWith('begin') ? 1 : -1
    most = Math.max(most, now)
  }
  return most
}

it('a run uses the byte code that an earlier one has kept', async () => {
  const home = await homes.make()
  const folder = join(ROOT, 'dist', '.compile-cache')
  const kept = () =>
    readdirSync(folder)
      .filter((name) => name.startsWith('run-'))
      .map((name) => [name, statSync(join(folder, name)).mtimeMs])
  // What V8 refuses is made and written anew by each run; in the beginning by those of other tests, too.
  await eventually(async () => {
    await run(home, '--exit-on-idle')
    const before = kept()
    await run(home, '--exit-on-idle')
    return before.length > 0 && isDeepStrictEqual(kept(), before)
  }, 120_000)
})

describe.concurrent('run --run-for', () => {
  it('drains after so many seconds and leaves with 0; what is left waits for the next run', async () => {
    const home = await homes.make()
    home.install('slow')
    const crawl = await home.add('--plugins', 'slow', '-c', 'SLOW_SECONDS=1', ...urls(1, 8))
    // One page after the other: they would take 8 s, however fast the machine is.
    const { code, stderr } = await home.run(['run', '--run-for', '2'], { env: { MAX_SNAPSHOT_WORKERS: '1' } })
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('drained')
    expect(await openRows(home)).toEqual([])
    expect(await statuses(home, crawl)).toContain('queued')
    await run(home, '--exit-on-idle')
    expect(await expectComplete(home, crawl)).toHaveLength(8)
  })

  it('ends an idle runner, too', async () => {
    const home = await homes.make()
    expect(await run(home, '--run-for', '0.5')).toContain('drained (the time of --run-for is over)')
  })
})

describe.concurrent('run --concurrency', () => {
  /** Pages that are under way until so many have begun, and then for long enough that more would be seen. */
  const slow = (most: number) => ['-c', 'ORACLE_SECONDS=0.4', '-c', `ORACLE_COMPANY=${most}`]

  it.each([1, 3])(
    '%i: works on no more pages at once, over all crawls, and on all of them in the end',
    async (most) => {
      const home = await homes.make()
      home.install('oracle')
      const crawls: string[] = []
      for (const [from, to] of [
        [1, 4],
        [5, 8],
      ] as const)
        crawls.push(await home.add('--plugins', 'oracle', ...slow(most), ...urls(from, to)))
      await run(home, '--exit-on-idle', '--concurrency', String(most))
      for (const crawl of crawls) expect(await expectComplete(home, crawl)).toHaveLength(4)
      expect(mostAtOnce(home)).toBe(most)
      expectOneAtATime(home)
    },
  )

  it('is there for one crawl as a whole, unless MAX_SNAPSHOT_WORKERS bounds what one may have', async () => {
    for (const [env, most] of [
      [{}, 4],
      [{ MAX_SNAPSHOT_WORKERS: '2' }, 2],
    ] as const) {
      const home = await homes.make()
      home.install('oracle')
      const crawl = await home.add('--plugins', 'oracle', ...slow(most), ...urls(1, 4))
      const { code, stderr } = await home.run(['run', '--exit-on-idle', '--concurrency', '4'], { env })
      expect(code, stderr).toBe(0)
      await expectComplete(home, crawl)
      expect(mostAtOnce(home)).toBe(most)
    }
  })
})

describe.concurrent('run --exclude', () => {
  it('crawl: leaves crawls alone, and with them their pages', async () => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', 'html', ...urls(1, 2))
    expect(await run(home, '--exclude', 'crawl', '--exit-on-idle')).toContain('nothing left to do')
    expect(await home.query('select status, claimed_by from crawl')).toEqual([{ status: 'queued', claimed_by: null }])
    await run(home, '--exit-on-idle')
    await expectComplete(home, crawl)
  })

  it('snapshot: crawls get their pages, and none of those is worked on', async () => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', 'html', ...urls(1, 2))
    expect(await run(home, '--exclude', 'snapshot', '--exit-on-idle')).toContain('nothing left to do')
    expect(await home.query('select status, claimed_by, attempts from crawl')).toEqual([
      { status: 'started', claimed_by: null, attempts: 0 },
    ])
    expect(await statuses(home, crawl)).toEqual(['queued', 'queued'])
    expect(await home.query('select id from archive_result')).toEqual([])
    await run(home, '--exit-on-idle')
    await expectComplete(home, crawl)
  })
})

describe.concurrent('run --snapshot-id', () => {
  it('works on just this page; its crawl is left for somebody else', async () => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', 'html', ...urls(1, 3))
    const other = await home.add('--plugins', 'html', ...urls(4, 4))
    await run(home, '--exclude', 'snapshot', '--exit-on-idle')
    const [, second] = await pagesOf(home, crawl)
    await run(home, '--snapshot-id', second!.id, '--exit-on-idle')
    expect(await statuses(home, crawl)).toEqual(['queued', 'sealed', 'queued'])
    expect(await home.value('select status from crawl where id = $1', [crawl])).toBe('started')
    expect(await statuses(home, other)).toEqual(['queued'])
    await run(home, '--exit-on-idle')
    for (const id of [crawl, other]) await expectComplete(home, id)
  })

  it('seals the crawl when this page was its last', async () => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', 'html', ...urls(1, 1))
    await run(home, '--exclude', 'snapshot', '--exit-on-idle')
    const [page] = await pagesOf(home, crawl)
    await run(home, '--snapshot-id', page!.id, '--exit-on-idle')
    await expectComplete(home, crawl)
  })
})

describe.concurrent('run --liveness-file', () => {
  it('keeps the file young while it leads, and takes it away when it leaves', async () => {
    const home = await homes.make()
    const file = join(home.dataDir, 'alive')
    const runner = home.start(['run', '--liveness-file', file])
    await runner.says(/leading/)
    await eventually(() => existsSync(file))
    const first = statSync(file).mtimeMs
    await eventually(() => statSync(file).mtimeMs > first)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
    expect(existsSync(file)).toBe(false)
  })

  it('lets it grow old when the process is stopped, and leaves it behind when it is killed', async () => {
    const home = await homes.make()
    const file = join(home.dataDir, 'alive')
    const runner = home.start(['run', '--liveness-file', file])
    await eventually(() => existsSync(file))
    runner.signal('SIGSTOP')
    await eventually(() => Date.now() - statSync(file).mtimeMs > 7_000)
    runner.signal('SIGKILL')
    await runner.finished()
    expect(existsSync(file)).toBe(true)
    await run(home, '--exit-on-idle')
  })

  it('ends in order when the file cannot be removed, and says so', async () => {
    const home = await homes.make()
    const file = join(home.dataDir, 'alive')
    const runner = home.start(['run', '--liveness-file', file])
    await eventually(() => existsSync(file))
    rmSync(file)
    mkdirSync(file)
    runner.signal('SIGTERM')
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/cannot remove the liveness file: .*is a directory/)
    expect(stderr).toContain('drained')
  })
})

describe.concurrent('run --maintenance-only', () => {
  it('ends and requeues what a killed runner left behind, begins nothing, and leaves with 0', async () => {
    const home = await homes.make()
    home.install('slow')
    const crawl = await home.add('--plugins', 'slow', '-c', 'SLOW_SECONDS=0.3', ...urls(1, 8))
    const runner = home.start(['run'])
    await sealedPages(home, 1)
    runner.signal('SIGKILL')
    await runner.finished()
    expect(await run(home, '--maintenance-only')).toContain('nothing is left over')
    expect(await openRows(home)).toEqual([])
    expect(await home.query('select id from snapshot where claimed_by is not null')).toEqual([])
    expect(await home.query('select id from crawl where claimed_by is not null')).toEqual([])
    const hooks = "select count(*) from process where process_type = 'hook'"
    const begun = await home.value(hooks)
    expect(await run(home, '--maintenance-only')).toContain('leading (term 3)')
    expect(await home.value(hooks)).toBe(begun)
    await run(home, '--exit-on-idle')
    await expectComplete(home, crawl)
  })

  it('queues open rows again that have lost their schedule, and has paused ones wait', async () => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', 'html', ...urls(1, 1))
    const paused = await home.add('--plugins', 'html', ...urls(2, 2))
    expect((await home.run(['crawl', 'pause', paused])).code).toBe(0)
    await home.query('update crawl set retry_at = null')
    expect(await run(home, '--maintenance-only')).toContain('2 crawls and pages had no schedule')
    expect(await home.value("select retry_at = '9999-01-01T00:00Z' from crawl where status = 'paused'")).toBe(true)
    await run(home, '--exit-on-idle')
    await expectComplete(home, crawl)
  })

  it('wakes a crawl that went to sleep over a page that had lost its schedule', async () => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', 'html', ...urls(1, 1))
    await run(home, '--exclude', 'snapshot', '--exit-on-idle')
    await home.query("update crawl set status = 'started', retry_at = '9999-01-01T00:00Z'")
    await home.query('update snapshot set retry_at = null')
    expect(await run(home, '--maintenance-only')).toContain('1 crawls and pages had no schedule')
    await run(home, '--exit-on-idle')
    await expectComplete(home, crawl)
  })
})

describe.concurrent('run', () => {
  let untouched: TestHome
  beforeAll(async () => {
    untouched = await homes.original()
  })

  it.each([
    [['--run-for', 'soon'], /^error: --run-for takes seconds/],
    [['--run-for', '0'], /^error: --run-for takes seconds/],
    [['--run-for', '99999999'], /^error: --run-for takes seconds/],
    [['--concurrency', '0'], /^error: --concurrency takes a whole number/],
    [['--concurrency', '1.5'], /^error: --concurrency takes a whole number/],
    [['--exclude', 'pages'], /^error: --exclude takes crawl, snapshot, binary, not "pages"/],
    [['--liveness-file', '/no/such/folder/alive'], /^error: --liveness-file: cannot write in \/no\/such\/folder/],
    [['--liveness-file', ''], /^error: --liveness-file takes the path of a file, not ""/],
    [['--liveness-file', '/tmp'], /^error: --liveness-file takes the path of a file, not "\/tmp"/],
    [['--snapshot-id', 'nonsense'], /^error: not an id/],
    [['--snapshot-id', '01994f6e-0c1a-7c3e-9d55-0123456789ab'], /^error: there is no snapshot/],
    [['--crawl-id', '01994f6e-0c1a-7c3e-9d55-0123456789ab'], /^error: there is no crawl/],
    [['--crawl-id', 'a', '--snapshot-id', 'b'], /^error: --crawl-id and --snapshot-id exclude each other/],
  ])('%j is a mistake: it leaves with 2, and nothing was begun', async (args, message) => {
    const { code, stdout, stderr } = await untouched.run(['run', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(await untouched.query("select id from process where process_type = 'orchestrator'")).toEqual([])
  })

  it('takes several options at once', async () => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', 'html', ...urls(1, 2))
    const runner = home.start([
      'run',
      '--crawl-id',
      crawl,
      '--run-for',
      '600',
      '--concurrency',
      '1',
      '--liveness-file',
      join(home.dataDir, 'alive'),
    ])
    await sealedCrawl(home, crawl)
    expect(await pidsOf(home, 'worker_runner')).toHaveLength(1)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
    await expectComplete(home, crawl)
  })
})
