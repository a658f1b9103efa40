import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../support/archive.ts'
import { DatabaseProxy } from '../support/database-proxy.ts'
import { type TestHome, useHomes } from '../support/homes.ts'
import { expectOneAtATime, openRows } from '../support/observer.ts'
import { pages, type Site, startSite } from '../support/site.ts'

const PAGES = 4
const homes = useHomes()
const proxies: DatabaseProxy[] = []
let site: Site

beforeAll(async () => {
  site = await startSite(pages(PAGES))
})
afterAll(() => site.close())
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.close()
})

async function homeBehindProxy(): Promise<{ home: TestHome; proxy: DatabaseProxy; through: { env: Record<string, string> } }> {
  const home = await homes.make()
  home.install('oracle')
  const proxy = await DatabaseProxy.before(home.databaseUrl)
  proxies.push(proxy)
  return { home, proxy, through: { env: { DATABASE_URL: proxy.url, MAX_SNAPSHOT_WORKERS: '2' } } }
}

async function expectAllThere(home: TestHome, crawl: string): Promise<void> {
  expect(await expectComplete(home, crawl)).toHaveLength(PAGES + 1)
  expect((await resultsOf(home, crawl)).filter(({ status }) => status !== 'succeeded')).toEqual([])
  expect(await openRows(home)).toEqual([])
  expectOneAtATime(home)
}

/** Every kind of statement whose effect must not be lost, nor happen twice, when nobody hears whether it took place. */
const STATEMENTS: Readonly<Record<string, readonly [pattern: RegExp, after?: RegExp]>> = {
  'the row of a process': [/insert into "process"/],
  'a promotion': [/^.{0,8}commit/i, /insert into runner_term/],
  'the claim of a crawl': [/from "?crawl"? (as )?work[\s\S]*skip locked/],
  'the start of a crawl': [/^.{0,8}commit/i, /insert into snapshot /],
  'the claim of a page': [/from "?snapshot"? (as )?work[\s\S]*skip locked/],
  'the start of a page': [/update "?snapshot"? set[\s\S]*from moved/],
  'the result of a hook': [/moved as \(\s+update archive_result/],
  'what a page found': [/^.{0,8}commit/i, /output_size = \(select/],
  'the end of a page': [/update "?snapshot"? as work[\s\S]*moved/],
  'the end of a crawl': [/^.{0,8}commit/i, /update "?crawl"? as work/],
}

describe('when the connection is cut between a statement and its answer', () => {
  it('add has added its crawl once', async () => {
    const { home, proxy, through } = await homeBehindProxy()
    const cut = proxy.cutInsteadOfReplyTo(/insert into "crawl"/)
    const { code, stdout, stderr } = await home.run(['add', `${site.url}/`], through)
    expect(code, stderr).toBe(0)
    await cut
    expect(await home.query('select id from crawl')).toEqual([{ id: (JSON.parse(stdout) as { id: string }).id }])
    expect(await openRows(home)).toEqual([])
  })

  it.each(Object.entries(STATEMENTS))('%s is written once', async (_name, [pattern, after]) => {
    const { home, proxy, through } = await homeBehindProxy()
    const crawl = await home.add('--depth', '1', '--plugins', 'html,parse_html_urls,oracle', `${site.url}/`)
    const cut = proxy.cutInsteadOfReplyTo(pattern, after)
    // In less than a lease: nothing waits for one to run out.
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { ...through, deadlineMs: 55_000 })
    expect(code, stderr).toBe(0)
    await cut
    expect(stderr).not.toMatch(/claim lost|died|does not renew/)
    await expectAllThere(home, crawl)
    expect(await home.value("select count(*)::int from transition where event = 'interrupt'"), 'no hook ran twice').toBe(0)
    expect(await home.value('select max(attempts) from snapshot'), 'nobody is blamed').toBeLessThanOrEqual(1)
    expect(await home.value('select max(term)::int from runner_term'), 'promoted once').toBe(1)
  })

  it('whatever the statement, again and again, a crawl comes to its end all the same', async () => {
    const { home, proxy, through } = await homeBehindProxy()
    const crawl = await home.add('--depth', '1', '--plugins', 'html,parse_html_urls,oracle', `${site.url}/`)
    const runner = home.start(['run', '--exit-on-idle'], through)
    await runner.says(/leading/)
    let cuts = 0
    while (!runner.isOver) {
      await Promise.race([proxy.cutInsteadOfReplyTo(/./), new Promise((resolve) => setTimeout(resolve, 5_000))])
      cuts += 1
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(0)
    expect(cuts).toBeGreaterThan(5)
    await expectAllThere(home, crawl)
  })
})
