import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, pagesOf, resultsOf } from '../../support/archive.ts'
import { crawl, end, halfway, nothingRuns, statuses } from '../../support/crawls.ts'
import { useHomes } from '../../support/homes.ts'
import { expectOneAtATime, sealedCrawl } from '../../support/observer.ts'
import { pageUrls, type Site, startSite } from '../../support/site.ts'

const FINAL = "('succeeded', 'failed', 'skipped', 'noresults')"

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(12)
})
afterAll(() => site.close())

describe('crawl pause and resume', () => {
  it('puts what is queued to sleep, and run finds nothing to do; resume wakes it, and it is archived', async () => {
    const home = await homes.make()
    const id = await home.add('--plugins', 'html,hashes', ...pageUrls(site, 2))
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
    const home = await homes.make('oracle')
    const { id, runner } = await halfway(home, pageUrls(site, 12), 1000)
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
    const home = await homes.make()
    const id = await home.add('--plugins', 'html', pageUrls(site, 1)[0]!)
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
    const home = await homes.make('slow')
    const paused = await home.add('--plugins', 'slow', ...pageUrls(site, 2))
    const other = await home.add('--plugins', 'html', pageUrls(site, 3)[2]!)
    await crawl(home, 'pause', paused)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    await expectComplete(home, other)
    expect(await home.value('select status from crawl where id = $1', [paused])).toBe('paused')
    expect(await pagesOf(home, paused)).toEqual([])
  })

  it('survives the end of the runner: paused is paused for the next one, too', async () => {
    const home = await homes.make('oracle')
    const { id, runner } = await halfway(home, pageUrls(site, 12), 1000)
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
