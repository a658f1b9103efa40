// How a crawl begins and ends, each by one statement, beside those who add pages to it or take it away.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../src/base/ids.ts'
import { UrlList } from '../../src/base/url-list.ts'
import { insertCrawl, type NewCrawl } from '../../src/db/crawls.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { insertSnapshots } from '../../src/db/snapshots.ts'
import { ClaimLost } from '../../src/engine/claimed.ts'
import { type CrawlClaim, crawlQueue, type Owner } from '../../src/machines/queues.ts'
import { startAtOnce } from '../../src/machines/start-crawl.ts'
import { sealCrawl } from '../../src/workers/crawl-ends.ts'
import { type TestHome, useHomes } from '../support/homes.ts'
import { eventually } from '../support/program.ts'

const homes = useHomes()
let test: TestHome
let db: Database
let owner: Owner

beforeEach(async () => {
  test = await homes.make()
  db = openDatabase(test.databaseUrl, { name: 'the test', connections: 3 })
  const dataDirId = uuidv7()
  owner = {
    home: { db, databaseUrl: test.databaseUrl, embedded: true, machineId: '', dataDir: test.dataDir, dataDirId },
    processId: uuidv7(),
    term: 1,
  }
  await test.query('insert into runner_term values ($1, 1, $2)', [dataDirId, owner.processId])
})
afterEach(() => db.destroy())

const PLAIN = { maxDepth: 0, maxUrls: 0, maxSize: 0, tags: [], label: '', config: {} } as const
const URLS = ['https://example.com/a', 'https://example.com/b', 'https://example.org/c']
const listOf = (details = '', ...others: string[]) =>
  new UrlList(
    URLS.length + others.length,
    { urls: URLS.join('\n'), details },
    others.map((urls) => () => ({ urls, details: '' })),
  )

async function claimed(crawl: Partial<NewCrawl> = {}) {
  const { id } = await insertCrawl(db, { list: listOf(), ...PLAIN, ...crawl })
  const queue = crawlQueue(owner, { crawlIds: [id] })
  return { id, queue, claim: (await queue.next()) as CrawlClaim<'queued'> }
}
const pagesOf = async (id: string) =>
  (
    await test.query<{ url: string }>(
      'select url from snapshot where crawl_id = $1 and retry_at <= now() order by retry_at, id',
      [id],
    )
  ).map(({ url }) => url)

describe('the start of a crawl at once', () => {
  it('gives it the pages of its list, in order, that its patterns let in', async () => {
    const { id, queue, claim } = await claimed({ config: { url_denylist: 'com/b' } })
    const started = await startAtOnce(owner, queue, claim, false)
    expect(started).toEqual({ ...claim, state: 'started' })
    expect(await pagesOf(id)).toEqual([URLS[0], URLS[2]])
    const [row] = await test.query(
      `select next_part, claim_token as token, from_status, to_status, event, process_id as by
       from crawl c join transition t on t.row_id = c.id where c.id = $1 and status = 'started'`,
      [id],
    )
    const moved = { from_status: 'queued', to_status: 'started', event: 'start', by: owner.processId }
    expect(row).toEqual({ next_part: null, token: claim.token, ...moved })
    expect(await queue.hasMoved(claim, 'started')).toBe(true)
  })

  it.each<[string, Partial<NewCrawl>]>([
    ['a limit of pages', { maxUrls: 2 }],
    ['a limit of bytes', { maxSize: 1_000 }],
    ['tags', { tags: ['news'] }],
    ['titles in its list', { list: listOf('\n{"title":"B"}\n') }],
    ['more parts of its list', { list: listOf('', 'https://example.com/d') }],
  ])('leaves one as it is that has %s', async (_what, crawl) => {
    const { id, queue, claim } = await claimed(crawl)
    expect(await startAtOnce(owner, queue, claim, false)).toBeUndefined()
    expect(await pagesOf(id)).toEqual([])
    expect(await queue.hasMoved(claim, 'started')).toBe(false)
  })

  it.each([
    ['was taken over', 'claim_token = gen_random_uuid()'],
    ['was paused', `status = 'paused', retry_at = '9999-01-01', claim_token = null, claimed_by = null`],
    ['has got its pages in another way', 'next_part = null'],
  ])('leaves one as it is that %s', async (_what, change) => {
    const { id, queue, claim } = await claimed()
    await test.query(`update crawl set ${change} where id = $1`, [id])
    expect(await startAtOnce(owner, queue, claim, false)).toBeUndefined()
    expect(await pagesOf(id)).toEqual([])
    expect(await queue.hasMoved(claim, 'started')).toBe(false)
  })
})

describe('the seal of a crawl', () => {
  const started = async () => {
    const { id, queue, claim } = await claimed({ config: { url_allowlist: 'nothing' } })
    return { id, queue, claim: (await startAtOnce(owner, queue, claim, false))! }
  }
  const waiting = () => test.value(`select count(*)::int from pg_stat_activity where wait_event_type = 'Lock'`)
  const isOver = async (id: string) => (await test.value('select status from crawl where id = $1', [id])) === 'sealed'

  it.each([
    ['not done when somebody is adding a page', true],
    ['done when somebody was adding one, and did not', false],
  ])('is %s', async (_what, isAdded) => {
    const { id, queue, claim } = await started()
    let seal: Promise<boolean> | undefined
    const adding = db.transaction().execute(async (tx) => {
      await insertSnapshots(tx, id, [{ url: URLS[0]! }], { depth: 0, parentId: null })
      seal = sealCrawl(owner, queue, claim)
      await eventually(async () => (await waiting()) === 1)
      if (!isAdded) throw new Error('never mind')
    })
    await adding.catch(() => {})
    expect(await seal).toBe(!isAdded)
    expect(await isOver(id)).toBe(!isAdded)
  })

  it.each([
    ['a page waits', `retry_at = now() + interval '1 day'`, false],
    ['a page is paused', `status = 'paused', retry_at = '9999-01-01'`, false],
    ['all pages are sealed', `status = 'sealed', outcome = 'archived', retry_at = null`, true],
  ])('looks at its pages: %s', async (_what, change, expected) => {
    const { id, queue, claim } = await started()
    await insertSnapshots(db, id, [{ url: URLS[0]! }], { depth: 0, parentId: null })
    await test.query(`update snapshot set ${change} where crawl_id = $1`, [id])
    expect(await sealCrawl(owner, queue, claim)).toBe(expected)
    expect(await isOver(id)).toBe(expected)
  })

  it('waits for the last part of its list', async () => {
    const { id, queue, claim } = await started()
    await test.query('update crawl set next_part = 1 where id = $1', [id])
    expect(await sealCrawl(owner, queue, claim)).toBe(false)
    expect(await isOver(id)).toBe(false)
  })

  it('is refused to whom the crawl was taken from', async () => {
    const { id, queue, claim } = await started()
    await test.query('update crawl set claim_token = gen_random_uuid() where id = $1', [id])
    await expect(sealCrawl(owner, queue, claim)).rejects.toThrow(ClaimLost)
    expect(await isOver(id)).toBe(false)
  })
})
