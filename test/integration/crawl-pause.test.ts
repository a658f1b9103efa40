import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, pagesOf, resultsOf } from '../support/archive.ts'
import { type TestHome, useHomes } from '../support/homes.ts'
import { expectOneAtATime, pidsOf, sealedCrawl, sealedPages } from '../support/observer.ts'
import { processesOf } from '../support/processes.ts'
import { eventually, type Running } from '../support/program.ts'
import { type Site, startSite } from '../support/site.ts'

const FINAL = "('succeeded', 'failed', 'skipped', 'noresults')"
/** How long a worker may take to see that its claim is not its own any more: one renewal, and the end of its hook. */
const DROPPED_MS = 40_000

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(12)
})
afterAll(() => site.close())

async function newHome(...plugins: string[]): Promise<TestHome> {
  const home = await homes.make()
  home.install(...plugins)
  return home
}

const urls = (count: number) => Array.from({ length: count }, (_, i) => `${site.url}/page-${i + 1}.html`)

/** A crawl command that must do its work; what it said. */
async function crawl(home: TestHome, ...args: string[]): Promise<string> {
  const { code, stderr } = await home.run(['crawl', ...args])
  expect(code, stderr).toBe(0)
  return stderr
}

const statuses = async (home: TestHome) =>
  Object.fromEntries(
    (await home.query<{ status: string; count: string }>('select status, count(*) from snapshot group by 1')).map(
      ({ status, count }) => [status, Number(count)],
    ),
  )

/** A runner in the middle of a crawl: some pages are sealed, some are in work, some wait. */
async function halfway(seconds: number): Promise<{ home: TestHome; id: string; runner: Running }> {
  const home = await newHome('oracle')
  const id = await home.add('--plugins', 'html,oracle,hashes', '-c', 'ORACLE_SECONDS=0.05', ...urls(12))
  const runner = home.start(['run'], { env: { MAX_SNAPSHOT_WORKERS: '2' } })
  await sealedPages(home, 2)
  await home.query(`update crawl set config = jsonb_set(config, '{env,ORACLE_SECONDS}', '"${seconds}"')`)
  // Both workers are at it.
  await eventually(() => {
    const slow = processesOf(home.dataDir).filter(({ environ }) => environ.includes(`ORACLE_SECONDS=${seconds}`))
    return new Set(slow.map(({ environ }) => environ.find((line) => line.startsWith('SNAPSHOT_ID=')))).size === 2
  })
  return { home, id, runner }
}

async function end(runner: Running): Promise<void> {
  runner.signal('SIGTERM')
  const { code, stderr } = await runner.finished()
  expect(code, stderr).toBe(0)
}

/** Nothing that belongs to a crawl runs any more: no worker has a claim, no hook is there. */
async function nothingRuns(home: TestHome): Promise<void> {
  await eventually(() => processesOf(home.dataDir).every(({ command }) => !command.includes('oracle')), DROPPED_MS)
  await eventually(async () => (await pidsOf(home, 'hook')).length === 0)
  expect(await home.query('select id from snapshot where claimed_by is not null')).toEqual([])
  expect(await home.query('select id from crawl where claimed_by is not null')).toEqual([])
}

describe('crawl pause and resume', () => {
  it('puts what is queued to sleep, and run finds nothing to do; resume wakes it, and it is archived', async () => {
    const home = await newHome()
    const id = await home.add('--plugins', 'html,hashes', ...urls(2))
    expect(await crawl(home, 'pause', id)).toContain(`paused: ${id}`)
    expect(await home.query('select status, retry_at::date::text as at from crawl')).toEqual([
      { status: 'paused', at: '9999-01-01' },
    ])
    expect((await home.run(['run', '--exit-on-idle'])).stderr).toContain('nothing left to do')
    expect(await home.value('select count(*) from snapshot')).toBe('0')
    expect(await crawl(home, 'resume', id)).toContain(`queued again: ${id}`)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect(await expectComplete(home, id)).toHaveLength(2)
  })

  it('takes a running crawl from its workers: nothing of it goes on, and what is done stays done; resume completes it', async () => {
    const { home, id, runner } = await halfway(1000)
    const sealed = await home.query("select id, status_changed_at from snapshot where status = 'sealed' order by id")
    await crawl(home, 'pause', id)
    const { sealed: done, paused, ...others } = await statuses(home)
    expect({ done, paused, others }).toEqual({ done: sealed.length, paused: 12 - sealed.length, others: {} })
    expect(
      await home.value("select bool_and(retry_at = '9999-01-01T00:00Z') from snapshot where status = 'paused'"),
    ).toBe(true)
    expect(await home.value("select retry_at = '9999-01-01T00:00Z' and status = 'paused' from crawl")).toBe(true)
    const hooks = "select count(*) from process where process_type = 'hook' and url is not null"
    const begun = await home.value(hooks)

    await nothingRuns(home)
    expect(await home.value(hooks)).toBe(begun)
    expect(await statuses(home)).toEqual({ sealed: done, paused })
    expect(await home.query("select id, status_changed_at from snapshot where status = 'sealed' order by id")).toEqual(
      sealed,
    )
    expect(runner.isOver).toBe(false)

    const finished = await home.query(
      `select id, status, end_ts, attempt from archive_result where status in ${FINAL} order by id`,
    )
    await home.query(`update crawl set config = jsonb_set(config, '{env,ORACLE_SECONDS}', '"0.05"')`)
    await crawl(home, 'resume', id)
    await sealedCrawl(home, id)
    expect(await expectComplete(home, id)).toHaveLength(12)
    const ids = finished.map((result) => result['id'])
    const after = await home.query(
      'select id, status, end_ts, attempt from archive_result where id = any($1) order by id',
      [ids],
    )
    expect(after).toEqual(finished)
    const results = await resultsOf(home, id)
    expect(results).toHaveLength(36)
    expect(results.every(({ status }) => status === 'succeeded')).toBe(true)
    expectOneAtATime(home)
    await end(runner)
  })

  it('counts against no limit: attempts and lives that a row had used up are there again after the pause', async () => {
    const home = await newHome()
    const id = await home.add('--plugins', 'html', urls(1)[0]!)
    expect((await home.run(['run', '--exclude', 'snapshot', '--exit-on-idle'])).code).toBe(0)
    for (const table of ['crawl', 'snapshot']) await home.query(`update ${table} set attempts = 99`)
    await crawl(home, 'pause', id)
    await crawl(home, 'resume', id)
    for (const table of ['crawl', 'snapshot'])
      expect(await home.query(`select attempts from ${table}`)).toEqual([{ attempts: 0 }])
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    await expectComplete(home, id)
    expect((await resultsOf(home, id)).map(({ status }) => status)).toEqual(['succeeded'])
  })

  it('pauses one crawl only: the others go on', async () => {
    const home = await newHome('slow')
    const paused = await home.add('--plugins', 'slow', ...urls(2))
    const other = await home.add('--plugins', 'html', urls(3)[2]!)
    await crawl(home, 'pause', paused)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    await expectComplete(home, other)
    expect(await home.value('select status from crawl where id = $1', [paused])).toBe('paused')
    expect(await pagesOf(home, paused)).toEqual([])
  })

  it('survives the end of the runner: paused is paused for the next one, too', async () => {
    const { home, id, runner } = await halfway(1000)
    await crawl(home, 'pause', id)
    runner.signal('SIGKILL')
    await runner.finished()
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    await nothingRuns(home)
    expect(Object.keys(await statuses(home)).sort()).toEqual(['paused', 'sealed'])
    await home.query(`update crawl set config = jsonb_set(config, '{env,ORACLE_SECONDS}', '"0.05"')`)
    await crawl(home, 'resume', id)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect(await expectComplete(home, id)).toHaveLength(12)
    expectOneAtATime(home)
  })
})
