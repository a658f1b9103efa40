// A long list becomes pages part by part, while the first are archived already: wherever it is cut off, nothing is
// lost.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete } from '../../support/archive.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

// Most pages lead nowhere: the fewer of them are tried meanwhile, the better.
const homes = useHomes({ MAX_SNAPSHOT_WORKERS: '1' })
let site: Site

beforeAll(async () => {
  site = await startSite(4)
})
afterAll(() => site.close())

const STEP = 'claim.crawl_pages_added'
/** A list of so many URLs, of which the first and the last can be archived here. */
async function addList(home: TestHome, count: number, ...options: string[]): Promise<string> {
  const between = Array.from({ length: count - 2 }, (_, n) => `http://127.0.0.1:9/list/${n}`)
  const file = join(home.dataDir, 'list.txt')
  writeFileSync(file, [`${site.url}/page-1.html`, ...between, `${site.url}/page-2.html`].join('\n'))
  return await home.add('--file', file, '--plugins', 'html', ...options)
}
const partsLeft = (home: TestHome) => home.value<number | null>('select next_part from crawl')
const pageCount = (home: TestHome) => home.value<number>('select count(*)::int from snapshot')
const sealed = (home: TestHome) => home.value<number>("select count(*)::int from snapshot where status = 'sealed'")

describe('a long list', () => {
  it('is archived from its first page on while parts of it are left, and its crawl is sealed after the last one', async () => {
    const home = await homes.make()
    const crawl = await addList(home, 30_000, '--url-allowlist', String.raw`page-\d\.html$`)
    const env = failpoints(home, `${STEP}=sleep:600000@5`)
    const run = home.start(['run', '--exit-on-idle'], { env })
    await eventually(async () => (await sealed(home)) > 0)
    const adding = await eventually(() => fired(home).get(STEP))
    expect(await partsLeft(home)).toBeLessThan(15)
    expect(await home.value('select status from crawl')).toBe('started')
    process.kill(adding, 'SIGKILL') // Another one goes on.
    const { code, stderr } = await run.finished()
    expect(code, stderr).toBe(0)
    const urls = (await expectComplete(home, crawl)).map(({ url }) => url)
    expect(urls).toEqual([`${site.url}/page-1.html`, `${site.url}/page-2.html`])
  })

  it('whose worker is killed in the middle of a part goes on with that part: no page is lost or doubled', async () => {
    const home = await homes.make()
    await addList(home, 12_000, '--tag', 'a,b')
    const env = failpoints(home, `${STEP}=kill9@4`)
    const run = home.start(['run'], { env })
    await eventually(() => fired(home).has(STEP))
    await eventually(async () => (await partsLeft(home)) === null)
    expect(await pageCount(home)).toBe(12_000)
    expect(await home.value('select sum(pages)::int from crawl_pages')).toBe(12_000)
    expect(await home.value('select count(*)::int from snapshot_tag')).toBe(24_000)
    expect(await home.value('select count(distinct url)::int from snapshot')).toBe(12_000)
    run.signal('SIGTERM')
    expect((await run.finished()).code).toBe(0)
  })

  it('ends where --max-urls does, part or no part, and never has a page more', async () => {
    const home = await homes.make()
    await addList(home, 9_000, '--max-urls', '2101')
    const run = home.start(['run'], { env: failpoints(home, `${STEP}=kill9@3`) })
    await eventually(async () => (await partsLeft(home)) === null)
    expect(await pageCount(home)).toBe(2_101)
    run.signal('SIGTERM')
    await run.finished()
  })

  it('goes on with the part that was next after a drain, and after a pause and a resume', async () => {
    const home = await homes.make()
    const crawl = await addList(home, 12_000)
    const first = home.start(['run'], { env: failpoints(home, `${STEP}=sleep:3000@3`) })
    await eventually(async () => (await pageCount(home)) > 0)
    first.signal('SIGTERM')
    expect((await first.finished()).code).toBe(0)
    expect(await home.query('select status, claim_token from crawl')).toEqual([
      { status: 'started', claim_token: null },
    ])
    expect(await pageCount(home)).toBeLessThan(12_000)
    const second = home.start(['run'])
    await eventually(async () => (await pageCount(home)) > 4_500)
    expect((await home.run(['crawl', 'pause', crawl])).code).toBe(0)
    const paused = await partsLeft(home)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(await partsLeft(home)).toBe(paused)
    await home.run(['crawl', 'resume', crawl])
    await eventually(async () => (await partsLeft(home)) === null)
    expect(await home.query('select count(*)::int, count(distinct url)::int as urls from snapshot')).toEqual([
      { count: 12_000, urls: 12_000 },
    ])
    second.signal('SIGTERM')
    await second.finished()
  })

  it('becomes pages, all of it, under a runner that leaves pages alone', async () => {
    const home = await homes.make()
    await addList(home, 7_000)
    const { code, stderr } = await home.run(['run', '--exclude', 'snapshot', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    expect(await partsLeft(home)).toBeNull()
    expect(await pageCount(home)).toBe(7_000)
    expect(await sealed(home)).toBe(0)
  })

  it('of which a cancel left something goes on with a retry of the crawl, and not with one of a page', async () => {
    const home = await homes.make()
    const crawl = await addList(home, 30_000, '--url-allowlist', String.raw`page-\d\.html$`)
    const run = home.start(['run'], { env: failpoints(home, `${STEP}=sleep:600000@3`) })
    await eventually(async () => (await sealed(home)) > 0)
    const adding = await eventually(() => fired(home).get(STEP))
    await home.run(['crawl', 'cancel', crawl])
    process.kill(adding, 'SIGKILL')
    run.signal('SIGTERM')
    expect((await run.finished()).code).toBe(0)
    expect(await home.value('select status from crawl')).toBe('sealed')
    expect(await partsLeft(home)).toBeGreaterThan(0)
    expect(await pageCount(home)).toBe(1)
    await home.run(['crawl', 'retry', crawl])
    expect(await home.value('select status from crawl')).toBe('queued')
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect(await partsLeft(home)).toBeNull()
    expect(await sealed(home)).toBe(2)
    // As if it had been cancelled in its middle.
    await home.query('update crawl set next_part = 1')
    await home.query("delete from snapshot where url like '%page-2.html'")
    const result = await home.value<string>("update archive_result set status = 'failed' returning id")
    expect((await home.run(['result', 'retry', result])).code).toBe(0)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect(await partsLeft(home)).toBeNull()
    expect(await pageCount(home)).toBe(1)
  })
})
