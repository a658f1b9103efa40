import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import type { DatabaseProxy } from '../../support/database-proxy.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { expectOneAtATime, openRows, pidsOf, sealedCrawl, sealedPages } from '../../support/observer.ts'
import { eventually, type Running } from '../../support/program.ts'
import { useProxies } from '../../support/proxies.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const PAGES = 8
const homes = useHomes()
const proxied = useProxies()
let site: Site

beforeAll(async () => {
  site = await startSite(pages(PAGES))
})
afterAll(() => site.close())

interface Scene {
  readonly home: TestHome
  readonly proxy: DatabaseProxy
  readonly crawl: string
  readonly runner: Running
}

/** A runner, its workers and their hooks reach the database through a proxy; we reach it directly. */
async function crawling(plugins: string, ...args: string[]): Promise<Scene> {
  const home = await homes.make()
  home.install('oracle', 'slow')
  const proxy = await proxied(home)
  const crawl = await home.add('--plugins', plugins, ...args)
  const runner = home.start(['run', '--exit-on-idle'], { env: { DATABASE_URL: proxy.url, MAX_SNAPSHOT_WORKERS: '2' } })
  return { home, proxy, crawl, runner }
}

const hookLog = (home: TestHome) => {
  const file = join(home.dataDir, 'oracle.log')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}
const times = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0

async function expectAllThere({ home, crawl, runner }: Scene, count: number): Promise<void> {
  const { code, stderr } = await runner.finished()
  expect(code, stderr).toBe(0)
  expect(await expectComplete(home, crawl)).toHaveLength(count)
  expect((await resultsOf(home, crawl)).filter(({ status }) => status !== 'succeeded')).toEqual([])
  expect(await openRows(home)).toEqual([])
  expectOneAtATime(home)
}

describe.concurrent('a runner that cannot listen', () => {
  it('finds its work by looking', async () => {
    const home = await homes.make()
    const proxy = await proxied(home)
    proxy.silenceOn(/listen archivebox_/)
    const runner = home.start(['run'], { env: { DATABASE_URL: proxy.url } })
    await runner.says(/leading/)
    const crawl = await home.add('--plugins', 'html', `${site.url}/`)
    await sealedCrawl(home, crawl)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
  })
})

describe.concurrent('while the database is away', () => {
  it('hooks that run come to their end, nothing new begins, and their results are written when it is back', async () => {
    const scene = await crawling('oracle,slow', '-c', 'SLOW_SECONDS=0.1', `${site.url}/`)
    const { home, proxy, runner } = scene
    home.hold('oracle')
    await eventually(() => times(hookLog(home), /^begin/gm) === 1)
    proxy.refuse()
    await runner.says(/the database is away, waiting for it/)
    home.letGo('oracle')
    await eventually(() => times(hookLog(home), /^end/gm) === 1)
    const still = await home.query<{ status: string }>("select status from archive_result where plugin = 'oracle'")
    expect(still).toEqual([{ status: 'started' }])
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    proxy.pass()
    await expectAllThere(scene, 1)
    expect(runner.stderr).toMatch(/the database is back after \d+ s/)
    expect(times(runner.stderr, /the database is away/g)).toBe(1)
    expect(times(hookLog(home), /^begin/gm), 'the hook ran once').toBe(1)
    expect(await home.value("select count(*)::int from transition where event = 'interrupt'")).toBe(0)
  })

  it('that its connections are only silent is noticed, and they are left for new ones before the lead is in doubt', async () => {
    const scene = await crawling('html,title,parse_html_urls,hashes,oracle', '--depth', '1', `${site.url}/`)
    const { home, proxy, runner } = scene
    await sealedPages(home, 2)
    proxy.silence()
    await eventually(() => proxy.connections > 0)
    proxy.pass()
    await expectAllThere(scene, PAGES + 1)
    expect(runner.stderr).not.toMatch(/cannot know that it leads/)
  })

  it('for longer than a leader may believe in its lead, it ends its hooks, waits, and leads again by itself', async () => {
    const scene = await crawling('oracle', '-c', 'ORACLE_SECONDS=1000', '-c', 'TIMEOUT=1000', `${site.url}/`)
    const { home, proxy, runner } = scene
    await eventually(() => times(hookLog(home), /^begin/gm) === 1)
    const hooks = await pidsOf(home, 'hook')
    proxy.refuse()
    await runner.says(/this runner cannot know that it leads \(the database has not answered for 25 s\)/)
    await eventually(() => hooks.every((pid) => !existsSync(`/proc/${pid}`)))
    expect(runner.isOver).toBe(false)
    await home.query("update crawl set config = jsonb_set(config, '{env,ORACLE_SECONDS}', '\"0.1\"')")
    proxy.pass()
    await expectAllThere(scene, 1)
    expect(runner.stderr).toMatch(/leading \(term 2/)
    expect(times(runner.stderr, /the database is away/g)).toBe(1)
  })

  it('add --run waits, too, and reports when its crawl is sealed', async () => {
    const home = await homes.make()
    home.install('oracle')
    const proxy = await proxied(home)
    const args = ['add', '--run', '--json', '--plugins', 'html,oracle', '-c', 'ORACLE_SECONDS=2', `${site.url}/`]
    const adding = home.start(args, { env: { DATABASE_URL: proxy.url } })
    await eventually(() => times(hookLog(home), /^begin/gm) === 1)
    proxy.refuse()
    await new Promise((resolve) => setTimeout(resolve, 4_000))
    proxy.pass()
    const { code, stdout, stderr } = await adding.finished()
    expect(code, stderr).toBe(0)
    expect(await expectComplete(home, (JSON.parse(stdout) as { id: string }).id)).toHaveLength(1)
    expect(times(hookLog(home), /^begin/gm), 'the hook ran once').toBe(1)
  })

  it('a signal ends the runner all the same', async () => {
    const { home, proxy, runner } = await crawling(
      'oracle',
      ...['-c', 'ORACLE_SECONDS=1000', '-c', 'TIMEOUT=1000', `${site.url}/`],
    )
    await eventually(() => times(hookLog(home), /^begin/gm) === 1)
    proxy.refuse()
    await runner.says(/the database is away/)
    runner.signal('SIGTERM')
    await runner.says(/draining/)
    await new Promise((resolve) => setTimeout(resolve, 300)) // Two at once count as one.
    runner.signal('SIGTERM')
    const { code } = await runner.finished()
    expect(code).toBe(130)
    proxy.pass()
    // Whatever could not be written is put right by the next one.
    await home.query("update crawl set config = jsonb_set(config, '{env,ORACLE_SECONDS}', '\"0.1\"')")
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect(await openRows(home)).toEqual([])
  })

  it('a newer runner that reaches it by another way takes over as ever', async () => {
    const { home, proxy, crawl, runner } = await crawling('oracle', '-c', 'ORACLE_SECONDS=1', `${site.url}/`)
    await eventually(() => times(hookLog(home), /^begin/gm) === 1)
    proxy.refuse()
    await runner.says(/the database is away/)
    const newer = home.start(['run', '--exit-on-idle'])
    await newer.says(/leading \(term 2/)
    proxy.pass()
    await runner.finished()
    expect((await newer.finished()).code).toBe(0)
    await sealedCrawl(home, crawl)
    expectOneAtATime(home)
    expect(await openRows(home)).toEqual([])
  })
})
