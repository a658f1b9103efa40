import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { serverAccount } from '../../../src/db/embedded/account.ts'
import { findBinaries } from '../../../src/db/embedded/binaries.ts'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { newFolder, TestHome } from '../../support/homes.ts'
import { expectOneAtATime, sealedPages } from '../../support/observer.ts'
import { killAll, processesOf } from '../../support/processes.ts'
import { eventually, program, type Running } from '../../support/program.ts'
import { brokenPromises } from '../../support/promises.ts'
import { sampled } from '../../support/seed.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const PAGES = 20
const PLUGINS = 'html,title,parse_html_urls,hashes,oracle'
const embedded = { env: { DATABASE_URL: '' } }
let site: Site
let answer: () => void
let dataDir: string
let home: TestHome

beforeAll(async () => {
  site = await startSite({
    ...pages(PAGES),
    '/waits': (_request, response) => {
      answer = () => response.end('<title>At last</title>')
    },
  })
})
beforeEach(async () => {
  dataDir = newFolder()
  expect((await cli('init')).code).toBe(0)
  await cli('db', 'start')
  home = new TestHome(dataDir, (await cli('db', 'url')).stdout.trim(), { DATABASE_URL: '' })
  home.install('oracle')
  return async () => {
    await home.close()
    await cli('db', 'stop', '--force')
    const left = processesOf(dataDir)
    killAll(left)
    rmSync(dataDir, { recursive: true, force: true })
    expect(left).toEqual([])
  }
})
afterAll(() => site.close())

const cli = (...args: string[]) => program(args, { env: { DATA_DIR: dataDir } })
const postmaster = () => Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])

/**
 * Restarts the server as people do. The leader revives a server that is away, and may be faster than their second step.
 */
async function restartByHand(mode: string): Promise<void> {
  const pgdata = join(dataDir, 'postgres')
  const { uid, gid } = statSync(pgdata)
  const account = serverAccount({ uid, gid })
  const before = postmaster()
  try {
    const args = ['restart', '-s', '-m', mode, '-D', pgdata, '-l', join(pgdata, 'restarts.log')]
    execFileSync(findBinaries(account).pgCtl, args, { cwd: '/', stdio: 'ignore', ...(account ? { uid, gid } : {}) })
  } catch (error) {
    // It found a server where it wanted to start one.
    const after = postmaster()
    if (Number.isNaN(after) || after === before) throw error
  }
}

async function crawling(): Promise<{ crawl: string; runner: Running }> {
  const added = await home.run(['add', '--depth', '1', '--plugins', PLUGINS, `${site.url}/`], embedded)
  const { id: crawl } = JSON.parse(added.stdout) as { id: string }
  const runner = home.start(['run', '--exit-on-idle'], embedded)
  await sealedPages(home, 2)
  return { crawl, runner }
}

async function expectAllThere(crawl: string, runner: Running): Promise<void> {
  const { code, stderr } = await runner.finished()
  expect(code, stderr).toBe(0)
  expect(await expectComplete(home, crawl)).toHaveLength(PAGES + 1)
  expect((await resultsOf(home, crawl)).filter(({ status }) => status !== 'succeeded')).toEqual([])
  expectOneAtATime(home)
  expect(await brokenPromises(home)).toEqual([])
  const programs = () => processesOf(dataDir).filter(({ command }) => !command.includes('postgres'))
  await eventually(() => programs().length === 0).catch(() => {})
  expect(programs()).toEqual([])
}

describe('the embedded server', () => {
  it('killed with -9 in the middle of a crawl is started again by the leader, which goes on; nothing committed is lost', async () => {
    const { crawl, runner } = await crawling()
    const sealed = await home.query<{ id: string }>("select id from snapshot where status = 'sealed'")
    const killed = postmaster()
    process.kill(killed, 'SIGKILL')
    await runner.says(/the database is away/)
    await runner.says(/started the database server again/)
    await expectAllThere(crawl, runner)
    expect(postmaster()).not.toBe(killed)
    const kept = await home.value('select count(*)::int from snapshot where id = any($1)', [sealed.map(({ id }) => id)])
    expect(kept).toBe(sealed.length)
  })

  it.each(sampled(['fast', 'immediate'], 1, 'restarted'))(
    'restarted (%s) again and again in the middle of a crawl costs nothing but time',
    async (mode) => {
      const { crawl, runner } = await crawling()
      for (let round = 0; round < 4 && !runner.isOver; round += 1) {
        await restartByHand(mode)
        await delay(2_000)
      }
      await expectAllThere(crawl, runner)
    },
  )

  it('stopped by hand under a runner is started again', async () => {
    const runner = home.start(['run'], embedded)
    await runner.says(/leading/)
    expect((await cli('db', 'stop', '--force')).code).toBe(0)
    await runner.says(/the database is back after \d+ s/)
    runner.signal('SIGTERM')
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(0)
  })

  it('that dies when a page was only just begun has not forgotten whose it is', async () => {
    // By itself the server writes its log so seldom that only what waits for the disk is there.
    await home.query("alter system set wal_writer_delay = '10s'")
    await home.query('select pg_reload_conf()')
    const urls = [1, 2, 3].map((n) => `${site.url}/page-${n}.html`)
    const added = await home.run(
      ['add', '--plugins', 'html', '-c', 'TIMEOUT=600', ...urls, `${site.url}/waits`],
      embedded,
    )
    const { id: crawl } = JSON.parse(added.stdout) as { id: string }
    const runner = home.start(['run', '--exit-on-idle'], { env: { DATABASE_URL: '', MAX_SNAPSHOT_WORKERS: '1' } })
    await eventually(() => site.hits('/waits') > 0)
    const owner = () => home.value<string>(`select claimed_by from snapshot where url like '%/waits'`).catch(() => '')
    const before = await owner()
    await restartByHand('immediate')
    await eventually(async () => (await owner()) !== '')
    expect(before).toEqual(expect.any(String))
    expect(await owner()).toBe(before)
    answer()
    expect((await runner.finished()).code).toBe(0)
    expect(await expectComplete(home, crawl)).toHaveLength(4)
    expectOneAtATime(home)
    // The worker did not wait for the lease of what was forgotten: it would have left, and another one come.
    const sealed = `select process_id from transition where event = 'seal' and row_id = (
      select id from snapshot where url like '%/waits')`
    expect(await home.value(sealed)).toBe(before)
  })

  it.each([
    ['and its claim', ', claim_token = null, claimed_by = null, retry_at = now()'],
    ['but not its claim', ''],
  ])('that dies and has forgotten the start of a crawl, %s, is told of it again', async (_what, claim) => {
    const added = await home.run(['add', '--plugins', 'html', `${site.url}/page-1.html`], embedded)
    const { id: crawl } = JSON.parse(added.stdout) as { id: string }
    const env = { DATABASE_URL: '', ...failpoints(home, 'claim.crawl_started=stop') }
    const runner = home.start(['run', '--exit-on-idle'], { env })
    const worker = await eventually(() => fired(home).get('claim.crawl_started'))
    await home.query(`with gone as (delete from snapshot) update crawl set status = 'queued', next_part = 0${claim}`)
    await home.query("delete from transition where model = 'crawl'")
    process.kill(worker, 'SIGCONT')
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/claim lost: crawl .* was paused, sealed or taken over/)
    expect(await expectComplete(home, crawl)).toHaveLength(1)
    expectOneAtATime(home)
  })
})
