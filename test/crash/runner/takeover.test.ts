import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { expectOneAtATime, openRows, pidsOf, sealedCrawl, sealedPages } from '../../support/observer.ts'
import { isThere, processesOf } from '../../support/processes.ts'
import { eventually, type Finished, type Running } from '../../support/program.ts'
import { brokenPromises } from '../../support/promises.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const PAGES = 20
const PLUGINS = 'headers,html,title,parse_html_urls,hashes,oracle'
const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(pages(PAGES))
})
afterAll(() => site.close())

async function queued(seconds = 0.2): Promise<{ home: TestHome; crawl: string }> {
  const home = await homes.make()
  home.install('oracle')
  const crawl = await home.add('--depth', '1', '--plugins', PLUGINS, '-c', `ORACLE_SECONDS=${seconds}`, `${site.url}/`)
  return { home, crawl }
}

async function expectAllThere(home: TestHome, crawl: string): Promise<void> {
  expect(await expectComplete(home, crawl)).toHaveLength(PAGES + 1)
  expect((await resultsOf(home, crawl)).filter(({ status }) => status !== 'succeeded')).toEqual([])
  expect(await openRows(home)).toEqual([])
}

/** Looks at the rows all the time, as somebody outside, until `over` has come. */
async function watched<T>(home: TestHome, over: Promise<T>): Promise<T> {
  let done = false
  const watch = (async () => {
    while (!done) {
      expect(await brokenPromises(home)).toEqual([])
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })()
  try {
    return await over
  } finally {
    done = true
    await watch
  }
}

describe.concurrent('a second runner', () => {
  it('takes over in the middle of a crawl: the first leaves with 0 and says so, and the second finishes', async () => {
    const { home, crawl } = await queued(0.4)
    const first = home.start(['run'], { env: { MAX_SNAPSHOT_WORKERS: '1' } }) // The second comes before the last page.
    await sealedPages(home, 1)
    const second = home.start(['run', '--exit-on-idle'])
    const [a, b] = await watched(home, Promise.all([first.finished(), second.finished()]))
    expect(a.code, a.stderr).toBe(0)
    expect(a.stderr.match(/a newer runner takes over: handing over/g), a.stderr).toHaveLength(1)
    expect(a.stderr).toContain('handed over')
    expect(b.code, b.stderr).toBe(0)
    expect(b.stderr).toContain(`taking over from runner pid ${first.pid}`)
    expect(expectOneAtATime(home)).toHaveLength(2)
    await expectAllThere(home, crawl)
    const terms = await home.query<{ term: string }>(
      "select term from process where worker_type = 'worker_runner' order by seq",
    )
    expect(terms.map(({ term }) => Number(term))).toEqual([1, 2])
  })

  it('takes over from an idle one, and is taken over itself', async () => {
    const home = await homes.make()
    const runners: Running[] = []
    for (let number = 1; number <= 3; number += 1) {
      const runner = home.start(['run'])
      runners.push(runner)
      await runner.says(new RegExp(`leading \\(term ${number}\\)`))
    }
    const last = runners.pop()!
    for (const runner of runners) {
      const { code, stderr } = await runner.finished()
      expect(code, stderr).toBe(0)
      expect(stderr).toMatch(/newer runner/)
    }
    last.signal('SIGTERM')
    expect((await last.finished()).code).toBe(0)
  })

  it('finds a first one whose row a hand has made somebody else’s: that one keeps saying who it is', async () => {
    const home = await homes.make()
    const first = home.start(['run'])
    await first.says(/leading/)
    await home.query(
      "update process set pid = pid + 1, start_ticks = start_ticks + 1 where worker_type = 'worker_runner'",
    )
    const second = home.start(['run'])
    await second.says(/leading \(term 2\)/)
    expect((await first.finished()).code, first.stderr).toBe(0)
    second.signal('SIGTERM')
    expect((await second.finished()).code).toBe(0)
  })

  it('has nothing running in its name before it leads', async () => {
    const home = await homes.make()
    const first = home.start(['run'], { env: { ARCHIVEBOX_FAILPOINTS: 'shutdown.drain_seen=sleep:3000' } })
    await first.says(/leading/)
    const second = home.start(['run'])
    await first.says(/newer runner/)
    const waiting = await eventually(() =>
      home.value<string | undefined>("select id from process where worker_type = 'runner_waiting'"),
    )
    const inItsName = () =>
      processesOf(home.dataDir).filter(({ environ }) => environ.includes(`ARCHIVEBOX_RUNNER_ID=${waiting}`))
    while (!first.isOver) {
      expect(inItsName().map(({ command }) => command)).toEqual([])
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await second.says(/leading/)
    second.signal('SIGTERM')
    expect((await second.finished()).code).toBe(0)
  })

  it('waits until a hook of the first has ended or its handoff time is over, and runs it again only if it was cut off', async () => {
    const home = await homes.make()
    home.install('oracle')
    const crawl = await home.add('--plugins', 'oracle', '-c', 'ORACLE_SECONDS=2', `${site.url}/page-1.html`)
    const first = home.start(['run'])
    await eventually(async () => (await pidsOf(home, 'hook')).length === 1)
    const second = await home.run(['run', '--exit-on-idle'])
    expect(second.code, second.stderr).toBe(0)
    expect((await first.finished()).code).toBe(0)
    expect(expectOneAtATime(home)).toHaveLength(1)
    await expectComplete(home, crawl)
  })

  it('ends a stopped leader and takes over', async () => {
    const { home, crawl } = await queued()
    const first = home.start(['run'])
    await sealedPages(home, 2)
    first.signal('SIGSTOP')
    const second = await watched(home, home.run(['run', '--exit-on-idle']))
    expect(second.code, second.stderr).toBe(0)
    const { code, stderr } = await first.finished()
    expect(code, stderr).toBe(0)
    expectOneAtATime(home)
    await expectAllThere(home, crawl)
  })

  it('is not kept by a worker that stands still: the first one ends it in time, and hands over', async () => {
    const { home, crawl } = await queued()
    const first = home.start(['run'])
    await sealedPages(home, 2)
    const [worker] = await pidsOf(home, 'crawl')
    process.kill(worker!, 'SIGSTOP')
    const second = await home.run(['run', '--exit-on-idle', '--handoff-grace', '40'])
    expect(second.code, second.stderr).toBe(0)
    const { code, stderr } = await first.finished()
    expect(code, stderr).toBe(0)
    expect(isThere(worker!)).toBe(false)
    expectOneAtATime(home)
    await expectAllThere(home, crawl)
  })

  it('kills a leader that does not hand over within the grace, with all that runs below it', async () => {
    const { home, crawl } = await queued()
    const first = home.start(['run'], { env: { ARCHIVEBOX_FAILPOINTS: 'shutdown.drain_seen=block:60000' } })
    await sealedPages(home, 2)
    const [worker] = await pidsOf(home, 'crawl')
    const second = await home.run(['run', '--exit-on-idle'])
    expect(second.code, second.stderr).toBe(0)
    expect(second.stderr).toContain('did not hand over')
    expect((await first.finished()).signal).toBe('SIGKILL')
    expect(isThere(worker!)).toBe(false)
    expectOneAtATime(home)
    await expectAllThere(home, crawl)
  })
})

describe.concurrent('five runners that start at once', () => {
  const ends = (all: readonly Finished[]) => all.map(({ code, signal }) => code ?? signal)

  it('leave one leader: the newest, and the others exit with 0', async () => {
    const { home, crawl } = await queued()
    const runners = Array.from({ length: 5 }, () => home.start(['run', '--exit-on-idle', '--handoff-grace', '100']))
    const all = await watched(home, Promise.all(runners.map((runner) => runner.finished())))
    expect(ends(all), all.map(({ stderr }) => stderr).join('\n')).toEqual([0, 0, 0, 0, 0])
    await sealedCrawl(home, crawl)
    expectOneAtATime(home)
    await expectAllThere(home, crawl)
    const [newest] = await home.query(
      "select worker_type from process where process_type = 'orchestrator' order by seq desc limit 1",
    )
    expect(newest).toEqual({ worker_type: 'worker_runner' })
  })

  it('in the middle of a crawl leave one leader, and the one that led exits with 0, too', async () => {
    const { home, crawl } = await queued()
    const leader = home.start(['run'])
    await sealedPages(home, 2)
    const runners = [
      leader,
      ...Array.from({ length: 5 }, () => home.start(['run', '--exit-on-idle', '--handoff-grace', '100'])),
    ]
    const all = await watched(home, Promise.all(runners.map((runner) => runner.finished())))
    expect(ends(all), all.map(({ stderr }) => stderr).join('\n')).toEqual([0, 0, 0, 0, 0, 0])
    expectOneAtATime(home)
    await expectAllThere(home, crawl)
  })
})
