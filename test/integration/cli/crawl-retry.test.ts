import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { retry } from '../../../src/machines/retry.ts'
import { expectComplete, expectHashes, pagesOf } from '../../support/archive.ts'
import { crawl, end, halfway, statuses } from '../../support/crawls.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { expectOneAtATime, sealedCrawl } from '../../support/observer.ts'
import { eventually } from '../../support/program.ts'
import { pageUrls, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(12)
})
afterAll(() => site.close())

describe('crawl retry', () => {
  /**
   * A sealed crawl of one page: `exit_1` failed, `exit_10` was skipped, `order_a` had no result, `html`, `slow` and
   * `hashes` succeeded.
   */
  async function failed(): Promise<{ home: TestHome; id: string }> {
    const home = await homes.make('exit_1', 'exit_10', 'order_a', 'slow')
    const id = await home.add('--plugins', 'exit_1,exit_10,order_a,slow,html,hashes', pageUrls(site, 1)[0]!)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    await expectComplete(home, id)
    return { home, id }
  }

  const attempts = async (home: TestHome) =>
    (
      await home.query<{ plugin: string; status: string; attempt: number }>(
        "select plugin, status, attempt from archive_result where hook_name not like '%05_order_a%' " +
          'order by plugin, attempt',
      )
    ).map(({ plugin, status, attempt }) => `${plugin} ${attempt} ${status}`)

  const FIRST = [
    'exit_1 1 failed',
    'exit_10 1 skipped',
    'hashes 1 succeeded',
    'html 1 succeeded',
    'order_a 1 noresults',
    'slow 1 succeeded',
  ]

  async function rerun(home: TestHome, id: string): Promise<string> {
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect(
      await home.query('select c.status, s.status as page from crawl c join snapshot s on s.crawl_id = c.id'),
    ).toEqual([{ status: 'sealed', page: 'sealed' }])
    const [page] = await pagesOf(home, id)
    const dir = join(home.dataDir, page!.output_dir)
    expect(readdirSync(dir).filter((name) => /^\.(work|publish|replaced)/.test(name) || name.endsWith('.tmp'))).toEqual(
      [],
    )
    expect(existsSync(join(dir, 'index.html'))).toBe(true)
    expectHashes(dir)
    return dir
  }

  it('runs again what ended without an output, and the hashes; earlier attempts and outputs stay', async () => {
    const { home, id } = await failed()
    expect(await attempts(home)).toEqual(FIRST)
    const before = await home.query('select * from archive_result order by id')
    expect(await crawl(home, 'retry', id)).toMatch(/queued 4 hooks of 1 page again/)
    expect(
      await home.query(
        'select c.status, s.status as page, s.attempts from crawl c join snapshot s on s.crawl_id = c.id',
      ),
    ).toEqual([{ status: 'queued', page: 'queued', attempts: 0 }])
    const dir = await rerun(home, id)
    expect(await attempts(home)).toEqual(
      [...FIRST, 'exit_1 2 failed', 'exit_10 2 skipped', 'hashes 2 succeeded', 'order_a 2 noresults'].sort(),
    )
    // A file that was made again belongs to the later attempt.
    const handedOver = (row: Record<string, unknown>) =>
      row['plugin'] === 'hashes' ? { ...row, output_files: {}, output_size: '0' } : row
    expect(await home.query('select * from archive_result where attempt = 1 order by id')).toEqual(
      before.map(handedOver),
    )
    expect(readdirSync(join(dir, '.attempts')).sort()).toEqual([
      'exit_1.on_Snapshot__43_exit_1.sh.1',
      'exit_1.on_Snapshot__43_exit_1.sh.2',
    ])
    for (const file of ['html/output.html', 'slow/slow.txt']) expect(existsSync(join(dir, file)), file).toBe(true)
  })

  it('with --failed and --plugin runs again exactly those, and when they succeed now the page has their files', async () => {
    const { home, id } = await failed()
    expect(await crawl(home, 'retry', '--failed', '--plugin', 'html,exit_10', id)).toContain('nothing to retry')
    expect(await home.query('select status from crawl')).toEqual([{ status: 'sealed' }])
    expect(await crawl(home, 'retry', '--failed', '--plugin', 'exit_1', id)).toMatch(/1 hook of 1 page again/)
    // What was wrong is mended.
    const hook = join(home.dataDir, 'plugins', 'exit_1', 'on_Snapshot__43_exit_1.sh')
    rmSync(hook)
    writeFileSync(hook, 'echo whole >whole.txt\n')
    const dir = await rerun(home, id)
    expect(await attempts(home)).toEqual([...FIRST, 'exit_1 2 succeeded', 'hashes 2 succeeded'].sort())
    expect(readdirSync(join(dir, 'exit_1'))).toEqual(['whole.txt'])
    expect(readdirSync(join(dir, 'slow'))).toEqual(['slow.txt'])
    expect(await crawl(home, 'retry', '--failed', id)).toContain('nothing to retry')
  })

  it('counts on: a third attempt after the second; and runs every hook of a page that broke off', async () => {
    const { home, id } = await failed()
    for (let attempt = 2; attempt <= 3; attempt += 1) {
      await crawl(home, 'retry', '--failed', id)
      await rerun(home, id)
    }
    expect(await attempts(home)).toEqual(
      [...FIRST, 'exit_1 2 failed', 'exit_1 3 failed', 'hashes 2 succeeded', 'hashes 3 succeeded'].sort(),
    )
    // Of a page that broke off the others have but a part, too.
    await home.query(`update archive_result set output_json = '{"truncated": true}' where attempt = 3`)
    expect(await crawl(home, 'retry', '--failed', id)).toMatch(/queued 7 hooks of 1 page again/)
  })

  it('with --failed reads no results of pages that are archived: there may be millions', async () => {
    const home = await homes.make()
    const id = uuidv7()
    await home.query(
      "insert into crawl (id, urls, output_dir, status, retry_at) values ($1, 'u', 'archive/x', 'sealed', null)",
      [id],
    )
    await home.query(
      `insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, retry_at, outcome, cause)
       select gen_random_uuid(), $1, 'u', sha256(outcome::bytea), 'archive/x', 'sealed', null, outcome, cause
       from (values ('failed', 'x'), ('archived', null)) as page (outcome, cause)`,
      [id],
    )
    await home.query(`
      insert into archive_result (id, snapshot_id, plugin, hook_name, status, end_ts)
      select gen_random_uuid(), id, 'html', 'html', case outcome when 'failed' then 'failed' else 'succeeded' end, now()
      from snapshot`)
    const db = openDatabase(home.databaseUrl, { name: 'test', connections: 1 })
    const read: unknown[] = []
    const noting = db.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: ({ result }) => {
        read.push(...result.rows.map((row) => row['outcome']).filter(Boolean))
        return Promise.resolve(result)
      },
    })
    const { snapshots } = await retry({ db: noting, dataDirId: uuidv7() }, { crawls: [id], failed: true })
    expect({ snapshots, read }).toEqual({ snapshots: 1, read: ['failed'] })
    await db.destroy()
    await home.query('truncate crawl cascade') // They have no files.
  })

  it('wakes a runner that is idle', async () => {
    const { home, id } = await failed()
    const runner = home.start(['run'])
    await runner.says(/leading/)
    await crawl(home, 'retry', '--failed', id)
    await eventually(() =>
      home.value("select status = 'failed' from archive_result where plugin = 'exit_1' and attempt = 2"),
    )
    await sealedCrawl(home, id)
    await end(runner)
  })

  it('begins what was cancelled before it was begun: a crawl without pages, and pages without results', async () => {
    const home = await homes.make('oracle')
    const { id, runner } = await halfway(home, pageUrls(site, 12), 1000)
    await crawl(home, 'cancel', id)
    await end(runner)
    const untouched = await home.add('--plugins', 'html', pageUrls(site, 1)[0]!)
    await crawl(home, 'cancel', untouched)
    await home.query(`update crawl set config = jsonb_set(config, '{env,ORACLE_SECONDS}', '"0.05"') where id = $1`, [
      id,
    ])
    expect(await crawl(home, 'retry', '--failed', untouched)).toContain('nothing to retry')
    await crawl(home, 'retry', id, untouched)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    await expectComplete(home, untouched)
    expect(await statuses(home)).toEqual({ sealed: 13 })
    const latest =
      'select distinct on (snapshot_id, hook_name) status from archive_result order by snapshot_id, ' +
      'hook_name, attempt desc'
    expect(await home.query(`select status, count(*)::int from (${latest}) r group by 1`)).toEqual([
      { status: 'succeeded', count: 37 },
    ])
    expectOneAtATime(home)
  })

  it('of a crawl that is not there is a mistake, and nothing of it is done', async () => {
    const { home, id } = await failed()
    const { code, stdout, stderr } = await home.run(['crawl', 'retry', id, '01994f6e-0c1a-7c3e-9d55-0123456789ab'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^error: there is no crawl 01994f6e-0c1a-7c3e-9d55-0123456789ab\n/)
    expect(await attempts(home)).toEqual(FIRST)
  })

  it('leaves a crawl alone that is not at its end', async () => {
    const home = await homes.make()
    const id = await home.add('--plugins', 'html', pageUrls(site, 1)[0]!)
    expect(await crawl(home, 'retry', id)).toContain('nothing to retry')
    expect(await home.query('select status from crawl')).toEqual([{ status: 'queued' }])
  })
})
