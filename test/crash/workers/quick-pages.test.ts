// A new page that is done at once is written once, at its end: until then its claim alone says who has it.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sleep } from '../../../src/base/abort.ts'
import type { Failpoint } from '../../../src/base/failpoint.ts'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { expectOneAtATime } from '../../support/observer.ts'
import { eventually } from '../../support/program.ts'
import { useProxies } from '../../support/proxies.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const PAGES = 4
const PLUGINS = 'headers,html,title,hashes'
/** One page after the other: the claim of the second is on disk with the seal of the first. */
const ONE = { MAX_SNAPSHOT_WORKERS: '1' }
const homes = useHomes()
const proxied = useProxies()
let site: Site
let answer: () => void
/** How many requests for `/waits` are open. */
let open = 0

beforeAll(async () => {
  site = await startSite({
    ...pages(PAGES),
    '/waits': (_request, response) => {
      open += 1
      response.on('close', () => {
        open -= 1
      })
      answer = () => response.end('<title>At last</title>')
    },
  })
})
afterAll(() => site.close())

async function queued(...more: string[]): Promise<{ home: TestHome; crawl: string }> {
  const home = await homes.make()
  const urls = Array.from({ length: PAGES }, (_, n) => `${site.url}/page-${n + 1}.html`)
  return { home, crawl: await home.add('--plugins', PLUGINS, ...urls, ...more) }
}

async function expectAllArchived(home: TestHome, crawl: string, count = PAGES): Promise<void> {
  expect(await expectComplete(home, crawl)).toHaveLength(count)
  const results = await resultsOf(home, crawl)
  expect(results).toHaveLength(count * PLUGINS.split(',').length)
  expect(results.filter(({ status, attempt }) => status !== 'succeeded' || attempt !== 1)).toEqual([])
  expectOneAtATime(home)
}

/** How often pages were begun before anything else was known of them. */
const inAdvance = (home: TestHome) =>
  home.value<number>("select count(*)::int from transition where model = 'archive_result' and event = 'start'")

it('are written at their ends, with all that is told of others', async () => {
  const { home, crawl } = await queued()
  expect((await home.run(['run', '--exit-on-idle'], { env: ONE })).code).toBe(0)
  await expectAllArchived(home, crawl)
  const moves = await home.query<{ model: string; event: string; count: number }>(
    "select model, event, count(*)::int from transition where model <> 'crawl' group by 1, 2 order by 1, 2",
  )
  expect(Object.fromEntries(moves.map(({ model, event, count }) => [`${model} ${event}`, count]))).toMatchObject({
    ...{ 'snapshot start': PAGES, 'snapshot seal': PAGES, 'archive_result succeed': PAGES * 4 },
  })
  // A busy machine takes its time for some; the first one's claim is not on disk.
  expect(await inAdvance(home)).toBeLessThan(PAGES)
  const nobodys =
    'select count(*)::int from archive_result where process_id is null or end_ts < start_ts or node_id is null'
  expect(await home.value(nobodys)).toBe(0)
  expect(await home.value('select count(*)::int from snapshot where home_node is null')).toBe(0)
})

it('are shown as in work when they are not done soon', async () => {
  const { home, crawl } = await queued(`${site.url}/waits`)
  const runner = home.start(['run', '--exit-on-idle'], { env: ONE })
  const started = `select count(*)::int from archive_result r join snapshot s on s.id = r.snapshot_id
    where s.url like '%/waits' and s.status = 'started' and r.status = 'started'`
  await eventually(async () => (await home.value<number>(started)) === 1)
  answer()
  expect((await runner.finished()).code).toBe(0)
  await expectAllArchived(home, crawl, PAGES + 1)
})

it('are left soon when a person takes them away, whoever else notices', async () => {
  const { home, crawl } = await queued(`${site.url}/waits`)
  const runner = home.start(['run', '--exit-on-idle'], { env: ONE })
  await eventually(() => open > 0)
  const page = "url like '%/waits' returning id"
  await home.query(`update snapshot set status = 'paused', retry_at = '9999-01-01', claim_token = null,
    claimed_by = null, attempts = 0 where ${page}`)
  const crawlWorker = await home.value<number>(
    "select pid from process where worker_type = 'crawl' and ended_at is null",
  )
  process.kill(crawlWorker, 'SIGSTOP')
  await eventually(() => open === 0, 10_000)
  process.kill(crawlWorker, 'SIGCONT')
  await home.query(`update snapshot set status = 'queued', retry_at = now() where ${page}`)
  await eventually(() => open > 0)
  answer()
  expect((await runner.finished()).code).toBe(0)
  await expectAllArchived(home, crawl, PAGES + 1)
})

it('count as in work from their claim', async () => {
  const { home } = await queued()
  const step = 'publish.files_published'
  const runner = home.start(['run', '--exit-on-idle'], { env: { ...ONE, ...failpoints(home, `${step}=stop@2`) } })
  const worker = await eventually(() => fired(home).get(step))
  // They had waited for long.
  await home.query("update snapshot set status_changed_at = now() - interval '1 day' where status = 'queued'")
  await home.query("update snapshot set status = 'started', retry_at = now() where url like '%/page-3.html'")
  const { stdout } = await home.run(['status', '--json'])
  const { in_work: inWork, pages: counts } = JSON.parse(stdout) as {
    in_work: { seconds: number; hooks: unknown[] }[]
    pages: Record<string, number>
  }
  expect(inWork).toEqual([expect.objectContaining({ status: 'queued', hooks: [], url: `${site.url}/page-2.html` })])
  expect(inWork[0]!.seconds).toBeLessThan(3_600)
  expect(counts).toMatchObject({ working: 1, interrupted: 1 })
  process.kill(worker, 'SIGCONT')
  expect((await runner.finished()).code).toBe(0)
})

it('that the machine fails do not get the worker ended that goes on with others', async () => {
  const { home } = await queued()
  const step = 'publish.files_published'
  const env = { ...ONE, ...failpoints(home, `${step}=throw:EACCES@2`) }
  const runner = home.start(['run'], { env })
  await runner.says(/snapshot \S+: failpoint publish\.files_published/)
  const [page] = await home.query<{ output_dir: string }>(
    "select output_dir from snapshot where url like '%/page-2.html'",
  )
  const work = join(home.dataDir, page!.output_dir, '.work')
  expect(existsSync(work)).toBe(true)
  expect(existsSync(join(work, '.owner'))).toBe(false)
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
})

it('that were begun are finished, however full their crawl is by then', async () => {
  const { home, crawl } = await queued()
  const step = 'publish.files_published'
  const runner = home.start(['run', '--exit-on-idle'], { env: { ...ONE, ...failpoints(home, `${step}=stop@2`) } })
  const worker = await eventually(() => fired(home).get(step))
  await home.query('update crawl set max_size = 1 where id = $1', [crawl])
  process.kill(worker, 'SIGKILL')
  expect((await runner.finished()).code).toBe(0)
  const outcomes = await home.query<{ outcome: string }>('select outcome from snapshot order by url')
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['archived', 'archived', 'failed', 'failed'])
})

it('are deleted when their worker has left them', async () => {
  const { home } = await queued()
  const step = 'publish.files_published'
  const runner = home.start(['run', '--exit-on-idle'], { env: { ...ONE, ...failpoints(home, `${step}=stop@2`) } })
  const worker = await eventually(() => fired(home).get(step))
  const [page] = await home.query<{ id: string; output_dir: string }>(
    "select id, output_dir from snapshot where url like '%/page-2.html'",
  )
  const deletion = home.start(['snapshot', 'delete', '--yes', page!.id])
  await eventually(() => home.value<boolean>(`select status = 'paused' from snapshot where id = '${page!.id}'`))
  await sleep(1_000)
  expect(await home.value('select count(*)::int from snapshot')).toBe(PAGES)
  process.kill(worker, 'SIGCONT')
  expect((await deletion.finished()).code).toBe(0)
  expect((await runner.finished()).code).toBe(0)
  expect(existsSync(join(home.dataDir, page!.output_dir))).toBe(false)
  expect(await home.value('select count(*)::int from snapshot')).toBe(PAGES - 1)
})

const STEPS: readonly Failpoint[] = [
  'publish.hosted_hook_ended',
  'publish.files_published',
  'publish.hook_settled',
  'publish.results_written',
  'publish.page_findings_added',
  'publish.page_written',
  'publish.page_sealed',
]

describe.concurrent('whose worker dies', () => {
  it.each(STEPS)('at %s are archived all the same', async (step) => {
    const { home, crawl } = await queued()
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], {
      env: { ...ONE, ...failpoints(home, `${step}=kill9@2`) },
    })
    expect(code, stderr).toBe(0)
    expect(fired(home).has(step)).toBe(true)
    await expectAllArchived(home, crawl)
  })
})

it('whose end was written and then lost, by a server that died, are done again', async () => {
  const { home, crawl } = await queued()
  const step = 'publish.page_findings_added'
  const runner = home.start(['run', '--exit-on-idle'], { env: { ...ONE, ...failpoints(home, `${step}=stop@2`) } })
  const worker = await eventually(() => fired(home).get(step))
  const [page] = await home.query<{ id: string }>("select id from snapshot where status = 'started'")
  await home.query('delete from archive_result where snapshot_id = $1', [page!.id])
  await home.query("delete from transition where row_id = $1 or model = 'archive_result'", [page!.id])
  await home.query("update snapshot set status = 'queued', home_node = null where id = $1", [page!.id])
  process.kill(worker, 'SIGCONT')
  const { code, stderr } = await runner.finished()
  expect(code, stderr).toBe(0)
  expect(stderr).toMatch(/claim lost: snapshot/)
  await expectAllArchived(home, crawl)
})

it('whose files a power cut took back are made again', async () => {
  const { home, crawl } = await queued()
  const step = 'publish.page_findings_added'
  const runner = home.start(['run', '--exit-on-idle'], { env: { ...ONE, ...failpoints(home, `${step}=stop@2`) } })
  const worker = await eventually(() => fired(home).get(step))
  const [page] = await home.query<{ output_dir: string }>("select output_dir from snapshot where status = 'started'")
  rmSync(join(home.dataDir, page!.output_dir, 'html'), { recursive: true })
  process.kill(worker, 'SIGKILL')
  expect((await runner.finished()).code).toBe(0)
  await expectAllArchived(home, crawl)
})

it('whose end nobody hears of is written once', async () => {
  const { home, crawl } = await queued()
  const proxy = await proxied(home)
  const cut = proxy.cutInsteadOfReplyTo(/born as \(/)
  const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: { ...ONE, DATABASE_URL: proxy.url } })
  expect(code, stderr).toBe(0)
  await cut
  expect(stderr).not.toMatch(/claim lost|died/)
  await expectAllArchived(home, crawl)
})
