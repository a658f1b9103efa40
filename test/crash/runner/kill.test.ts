import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { expectOneAtATime, gone, openRows, pidsOf, sealedPages } from '../../support/observer.ts'
import { bringToStand, processesOf } from '../../support/processes.ts'
import { eventually, type Running } from '../../support/program.ts'
import { sampled } from '../../support/seed.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const PAGES = 20
const PLUGINS = 'headers,html,title,parse_html_urls,hashes,oracle,family'
const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(pages(PAGES))
})
afterAll(() => site.close())

async function crawling(
  env: Readonly<Record<string, string>> = {},
): Promise<{ home: TestHome; crawl: string; runner: Running }> {
  const home = await homes.make()
  home.install('oracle', 'family')
  const crawl = await home.add('--depth', '1', '--plugins', PLUGINS, '-c', 'FAMILY_SECONDS=0.1', `${site.url}/`)
  const runner = home.start(['run', '--exit-on-idle'], { env })
  await sealedPages(home, 4)
  return { home, crawl, runner }
}

/** Kills the first process of this kind that still runs. It stands still before, so that it does not end by itself. */
async function kill9(home: TestHome, kind: Parameters<typeof pidsOf>[1]): Promise<number> {
  return await eventually(async () => {
    for (const pid of await pidsOf(home, kind)) {
      if (!(await bringToStand(pid))) continue
      process.kill(pid, 'SIGKILL')
      return pid
    }
    return undefined
  })
}

async function expectAllThere(home: TestHome, crawl: string): Promise<void> {
  expect(await expectComplete(home, crawl)).toHaveLength(PAGES + 1)
  const results = await resultsOf(home, crawl)
  expect(results).toHaveLength((PAGES + 1) * PLUGINS.split(',').length)
  expect(results.filter(({ status }) => status !== 'succeeded')).toEqual([])
  expect(await openRows(home)).toEqual([])
}

describe.concurrent('a worker that stands still for longer than its lease', () => {
  it.each(sampled(['crawl', 'snapshot'] as const, 1, 'stands still'))(
    'is killed by its supervisor, and its work goes on: %s',
    async (kind) => {
      // One of each kind: a second one would take its work over, and end it first.
      const { home, crawl, runner } = await crawling({ MAX_CRAWL_WORKERS: '1', MAX_SNAPSHOT_WORKERS: '1' })
      const pid = await eventually(async () => {
        for (const one of await pidsOf(home, kind)) {
          if (!(await bringToStand(one))) continue
          const claim = `update ${kind} set retry_at = now() - interval '20 s'
          where claimed_by = (select id from process where pid = $1 order by seq desc limit 1) returning id`
          if ((await home.query(claim, [one])).length > 0) return one // Its lease ran out long ago.
          process.kill(one, 'SIGCONT')
        }
        return undefined
      })
      const { code, stderr } = await runner.finished()
      expect(code, stderr).toBe(0)
      expect(stderr).toContain(`${kind} worker ${pid} does not renew its lease: killing it`)
      expectOneAtATime(home)
      await expectAllThere(home, crawl)
    },
  )
})

describe.concurrent('kill -9 in the middle of a crawl', () => {
  it.each(sampled(['snapshot', 'crawl', 'host', 'hook'] as const, 2, 'killed'))(
    'of a %s process costs nothing but time',
    async (kind) => {
      const { home, crawl, runner } = await crawling()
      const victim = await kill9(home, kind)
      const { code, stderr } = await runner.finished()
      expect(code, stderr).toBe(0)
      const [row] = await home.query(
        'select status, exit_code, exit_signal from process where pid = $1 order by seq desc',
        [victim],
      )
      expect(row).toEqual({ status: 'exited', exit_code: null, exit_signal: 'SIGKILL' })
      expectOneAtATime(home)
      if (kind === 'hook' || kind === 'host') {
        // The page's own hook was killed, not the worker: that hook's result says so, and everything else is there.
        const failed = (await resultsOf(home, crawl)).filter(({ status }) => status !== 'succeeded')
        expect(failed.length).toBeLessThanOrEqual(1)
        for (const { output_str } of failed) expect(output_str).toContain('SIGKILL')
        expect(await expectComplete(home, crawl)).toHaveLength(PAGES + 1)
      } else await expectAllThere(home, crawl)
    },
  )

  it('of the leader ends everything below it, and the next runner finishes the crawl', async () => {
    const { home, crawl, runner } = await crawling()
    await eventually(async () => (await pidsOf(home, 'hook')).length > 0)
    const family = processesOf(home.dataDir)
    runner.signal('SIGKILL')
    expect((await runner.finished()).signal).toBe('SIGKILL')
    await gone(home, family)
    const next = await home.run(['run', '--exit-on-idle'])
    expect(next.code, next.stderr).toBe(0)
    expect(expectOneAtATime(home)).toHaveLength(2)
    await expectAllThere(home, crawl)
    expect(await home.value('select max(term) from runner_term')).toBe('2')
  })

  it('of the leader and all of its workers at once leaves hooks to the next runner, which ends them before it works', async () => {
    const { home, crawl, runner } = await crawling()
    await eventually(async () => (await pidsOf(home, 'hook')).length > 0)
    const workers = [...(await pidsOf(home, 'crawl')), ...(await pidsOf(home, 'snapshot'))]
    // The leader first: nobody reaps.
    for (const pid of [runner.pid, ...workers]) process.kill(pid, 'SIGKILL')
    await runner.finished()
    const orphans = processesOf(home.dataDir)
    const next = await home.run(['run', '--exit-on-idle'])
    expect(next.code, next.stderr).toBe(0)
    await gone(home, orphans, 0)
    expectOneAtATime(home)
    await expectAllThere(home, crawl)
  })

  it('of one process after another, whatever it is, still ends with every page archived once', async () => {
    const { home, crawl, runner } = await crawling()
    for (const kind of ['snapshot', 'crawl', 'snapshot', 'snapshot'] as const) {
      const victim = await kill9(home, kind)
      await eventually(
        async () =>
          (await home.value("select status not in ('running', 'draining') from process where pid = $1", [victim])) ===
          true,
      )
    }
    expect((await runner.finished()).code).toBe(0)
    expectOneAtATime(home)
    await expectAllThere(home, crawl)
  })

  it('right after a result is final loses no program that its hook asked for', async () => {
    const home = await homes.make()
    home.install('asks_for_programs')
    await home.add('--plugins', 'asks_for_programs', `${site.url}/page-1.html`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], {
      env: failpoints(home, 'publish.hook_settled=kill9'),
    })
    expect(code, stderr).toBe(0)
    expect([...fired(home).keys()]).toEqual(['publish.hook_settled'])
    expect(await home.value('select count(*) from "binary" where name = \'abx-asked-tool\'')).toBe('1')
  })
})
