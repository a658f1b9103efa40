import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import type { DatabaseProxy } from '../../support/database-proxy.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { expectNoPause, expectOneAtATime, openRows } from '../../support/observer.ts'
import { hook } from '../../support/plugins.ts'
import { eventually } from '../../support/program.ts'
import { useProxies } from '../../support/proxies.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const PAGES = 4
const homes = useHomes()
const proxied = useProxies()
let site: Site

beforeAll(async () => {
  site = await startSite(pages(PAGES))
})
afterAll(() => site.close())

async function homeBehindProxy(): Promise<{
  home: TestHome
  proxy: DatabaseProxy
  through: { env: Record<string, string> }
}> {
  const home = await homes.make()
  home.install('oracle')
  const proxy = await proxied(home)
  return { home, proxy, through: { env: { DATABASE_URL: proxy.url, MAX_SNAPSHOT_WORKERS: '2' } } }
}

async function expectAllThere(home: TestHome, crawl: string): Promise<void> {
  expect(await expectComplete(home, crawl)).toHaveLength(PAGES + 1)
  expect((await resultsOf(home, crawl)).filter(({ status }) => status !== 'succeeded')).toEqual([])
  expect(await openRows(home)).toEqual([])
  expectOneAtATime(home)
}

/** Every kind of statement whose effect must not be lost, nor happen twice, when nobody hears whether it took place. */
const STATEMENTS: Readonly<Record<string, readonly [pattern: RegExp, after?: RegExp, maxUrls?: string]>> = {
  'the row of a process': [/insert into "process"/],
  'a promotion': [/^.{0,8}commit/i, /insert into runner_term/],
  'the claim of a crawl': [/from "?crawl"? (as )?work[\s\S]*skip locked/],
  'the start of a crawl': [/begun as \(\s+update "crawl"/],
  'the start of a crawl with a limit': [/^.{0,8}commit/i, /insert into snapshot /, '1000'],
  'the claim of a page': [/from "?snapshot"? (as )?work[\s\S]*skip locked/],
  'the start of a page': [/begun as \(\s+update "snapshot"/],
  'the result of a hook': [/moved as \(\s+update "archive_result"/],
  'what a page found': [/^.{0,8}commit/i, /as page_size/],
  'the end of a page': [/moved as \(\s+update "snapshot"/],
  'the end of a crawl': [/moved as \(\s+update "crawl"/],
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

  it.each(Object.entries(STATEMENTS))('%s is written once', async (_name, [pattern, after, maxUrls = '0']) => {
    const { home, proxy, through } = await homeBehindProxy()
    const options = ['--depth', '1', '--max-urls', maxUrls, '--plugins', 'html,parse_html_urls,oracle']
    const crawl = await home.add(...options, `${site.url}/`)
    const cut = proxy.cutInsteadOfReplyTo(pattern, after)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], through)
    expect(code, stderr).toBe(0)
    await cut
    expect(stderr).not.toMatch(/claim lost|died|does not renew/)
    await expectAllThere(home, crawl)
    await expectNoPause(home)
    expect(
      await home.value("select count(*)::int from transition where event = 'interrupt'"),
      'no hook ran twice',
    ).toBe(0)
    expect(await home.value('select max(attempts) from snapshot'), 'nobody is blamed').toBeLessThanOrEqual(1)
    expect(await home.value('select max(term)::int from runner_term'), 'promoted once').toBe(1)
  })

  it('what was not done is done then: the result of a hook that failed', async () => {
    const { home, through } = await homeBehindProxy()
    hook(home, 'fails', '40_fails.sh', 'exit 1')
    await home.query(`create sequence cut;
      create function cut() returns trigger language plpgsql as $$ begin
        if nextval('cut') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if;
        return new;
      end $$;
      create trigger cut before update on archive_result for each row when (new.status = 'failed')
        execute function cut()`)
    await home.add('--plugins', 'fails,oracle', `${site.url}/`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], through)
    expect(code, stderr).toBe(0)
    expect(await home.value<string>('select last_value from cut'), 'tried again').toBe('2')
    await expectNoPause(home)
    expect(stderr).not.toMatch(/claim lost|died/)
    const runs = "select count(*)::int from process where process_type = 'hook' and cmd::text like '%40_fails%'"
    expect(await home.value(runs), 'it ran once').toBe(1)
    expect(await home.value('select max(attempts) from snapshot'), 'nobody is blamed').toBeLessThanOrEqual(1)
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
      // Ever less often: where statements take that long, each of them would be cut.
      await new Promise((resolve) => setTimeout(resolve, cuts * 60))
    }
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(0)
    expect(cuts).toBeGreaterThan(5)
    await expectAllThere(home, crawl)
  })
})

/** A page whose hook is at work, and what becomes of it when `change` has happened to its result. */
async function changed(change: string): Promise<{ home: TestHome; status: unknown }> {
  const home = await homes.make()
  home.install('oracle')
  home.hold('oracle')
  await home.add('--plugins', 'oracle', `${site.url}/page-1.html`)
  const runner = home.start(['run', '--exit-on-idle'])
  await eventually(() => home.value("select status = 'started' from archive_result"))
  await home.query(change)
  home.letGo('oracle')
  const { code, stderr } = await runner.finished()
  expect(code, stderr).toBe(0)
  await expectNoPause(home)
  expect(await home.value('select status from snapshot')).toBe('sealed')
  expect(readFileSync(join(home.dataDir, 'oracle.log'), 'utf8').match(/^begin/gm)).toHaveLength(1)
  return { home, status: await home.value('select status from archive_result') }
}

describe('the result of a hook that is at work', () => {
  it('counts though a crash of the database took back that the hook was started', async () => {
    const { home, status } = await changed(`
      with gone as (delete from transition where model = 'archive_result' and event = 'start')
      update archive_result set status = 'queued', start_ts = null, process_id = null`)
    expect(status).toBe('succeeded')
    expect(await home.value('select attempts from snapshot'), 'nobody is blamed').toBeLessThanOrEqual(1)
  })

  it('may be ended by somebody else: its page goes on, and waits for no lease', async () => {
    const { status } = await changed(`
      with said as (insert into transition (model, row_id, from_status, to_status, event)
        select 'archive_result', id, 'started', 'skipped', 'skip' from archive_result)
      update archive_result set status = 'skipped', end_ts = now()`)
    expect(status).toBe('skipped')
  })
})
