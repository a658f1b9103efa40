// How a crawl begins and ends, each by one statement, beside those who add pages to it or take it away.
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { UrlList } from '../../../src/base/url-list.ts'
import { insertCrawl, type NewCrawl } from '../../../src/db/crawls.ts'
import { type Database, kyselySql, openDatabase } from '../../../src/db/database.ts'
import { openSnapshots } from '../../../src/db/open-snapshots.ts'
import { insertSnapshots } from '../../../src/db/snapshots.ts'
import { WORK_STATUSES } from '../../../src/db/tables.ts'
import { ClaimLost } from '../../../src/engine/claimed.ts'
import { type CrawlClaim, crawlQueue, type Owner } from '../../../src/machines/queues.ts'
import { startAtOnce } from '../../../src/machines/start-crawl.ts'
import { sealCrawl } from '../../../src/workers/crawl/crawl-ends.ts'
import { addPart } from '../../../src/workers/crawl/expand-list.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'

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

const PAUSED = sql`status = 'paused', retry_at = '9999-01-01', claim_token = null, claimed_by = null`
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

/** Does one thing in a transaction, another one meanwhile, and ends the transaction once that waits for its locks. */
async function meanwhile<T>(first: (tx: Database) => Promise<unknown>, second: () => Promise<T>, isKept = true) {
  const waiting = () =>
    test.value(`
      select count(*)::int from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)
  let result: Promise<PromiseSettledResult<T>[]> | undefined
  const transaction = db.transaction().execute(async (tx) => {
    await first(tx)
    result = Promise.allSettled([second()])
    await eventually(async () => (await waiting()) === 1)
    if (!isKept) throw new Error('never mind')
  })
  await transaction.catch((error) => {
    if (isKept) throw error
  })
  const [settled] = await result!
  if (settled!.status === 'rejected') throw settled!.reason
  return settled!.value
}

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

  it('gives it the same pages as the transaction does', async () => {
    const urls = [...URLS, `${URLS[0]}#top`, 'https://example.com/a/../b', 'https://EXAMPLE.com/a'].join('\n')
    const rows = async (crawl: Partial<NewCrawl>) => {
      const { id, queue, claim } = await claimed({ ...crawl, list: new UrlList(6, { urls, details: '' }, []) })
      await insertSnapshots(db, id, [{ url: URLS[1]! }], { depth: 1, parentId: null })
      const started = await startAtOnce(owner, queue, claim, false)
      if (!started) {
        await db.transaction().execute((tx) => addPart(tx, claim))
        await queue.move(claim, 'start', owner.processId, { next_part: null })
      }
      const columns = `to_jsonb(it) - '{id,crawl_id,output_dir,created_at,modified_at,retry_at}'::text[]
        - 'status_changed_at' || jsonb_build_object('folder', replace(output_dir, id::text, '')) as row`
      const pages = await test.query(`select ${columns} from snapshot it where crawl_id = $1 order by it.id`, [id])
      return { isAtOnce: started !== undefined, pages }
    }
    const [atOnce, inSteps] = [await rows({}), await rows({ maxUrls: 1_000 })]
    expect([atOnce.isAtOnce, inSteps.isAtOnce]).toEqual([true, false])
    expect(atOnce.pages).toEqual(inSteps.pages)
    expect(atOnce.pages).toHaveLength(URLS.length)
  })

  const SERVERS_OWN = 'remote_apply'
  it.each([
    { embedded: true, isRelaxed: true, commits: ['off', 'off'] },
    { embedded: true, isRelaxed: false, commits: ['off', SERVERS_OWN] },
    { embedded: false, isRelaxed: true, commits: [SERVERS_OWN, SERVERS_OWN] },
  ])('is claimed and begins without a wait where that may be: %o', async ({ embedded, isRelaxed, commits }) => {
    await test.query(`create table seen (how text);
      create function see() returns trigger language plpgsql as $$ begin
        insert into seen select current_setting('synchronous_commit'); return null;
      end $$;
      create constraint trigger see after update on crawl deferrable initially deferred for each row
        execute function see()`)
    // The server of the tests waits for no disk.
    await test.query(`do $$ begin
      execute format('alter database %I set synchronous_commit = ${SERVERS_OWN}', current_database()); end $$`)
    await db.destroy()
    db = openDatabase(test.databaseUrl, { name: 'the test', embedded })
    owner = { ...owner, home: { ...owner.home, db } }
    const { queue, claim } = await claimed()
    await startAtOnce(owner, queue, claim, isRelaxed)
    expect((await test.query<{ how: string }>('select how from seen')).map(({ how }) => how)).toEqual(commits)
  })

  it('beside somebody who adds pages has each page once', async () => {
    const { id, queue, claim } = await claimed()
    const add = (tx: Database) =>
      insertSnapshots(tx, id, [{ url: URLS[1]! }, { url: 'https://example.com/d' }], { depth: 0, parentId: null })
    expect(await meanwhile(add, () => startAtOnce(owner, queue, claim, false))).toMatchObject({ state: 'started' })
    expect((await pagesOf(id)).toSorted()).toEqual([...URLS.slice(0, 2), 'https://example.com/d', URLS[2]])
  })

  it.each([
    ['pauses it', (id: string) => sql`update crawl set ${PAUSED} where id = ${id}`],
    ['deletes it', (id: string) => sql`delete from crawl where id = ${id}`],
  ])('beside somebody who %s does nothing', async (_what, change) => {
    const { id, queue, claim } = await claimed()
    const start = () => startAtOnce(owner, queue, claim, false)
    expect(await meanwhile((tx) => change(id).execute(tx), start)).toBeUndefined()
    expect(await pagesOf(id)).toEqual([])
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
  const isOver = async (id: string) => (await test.value('select status from crawl where id = $1', [id])) === 'sealed'

  it.each([
    ['not done when somebody is adding a page', true],
    ['done when somebody was adding one, and did not', false],
  ])('is %s', async (_what, isAdded) => {
    const { id, queue, claim } = await started()
    const add = (tx: Database) => insertSnapshots(tx, id, [{ url: URLS[0]! }], { depth: 0, parentId: null })
    expect(await meanwhile(add, () => sealCrawl(owner, queue, claim), isAdded)).toBe(!isAdded)
    expect(await isOver(id)).toBe(!isAdded)
  })

  it('is done when its claim is being renewed', async () => {
    const { id, queue, claim } = await started()
    const renew = (tx: Database) => queue.on(kyselySql(tx)).renew([claim])
    expect(await meanwhile(renew, () => sealCrawl(owner, queue, claim))).toBe(true)
    expect(await isOver(id)).toBe(true)
  })

  it.each([
    ['paused', (id: string) => sql`update crawl set ${PAUSED} where id = ${id}`],
    ['deleted', (id: string) => sql`delete from crawl where id = ${id}`],
  ])('is refused when it is being %s', async (_what, change) => {
    const { id, queue, claim } = await started()
    const seal = meanwhile(
      (tx) => change(id).execute(tx),
      () => sealCrawl(owner, queue, claim),
    )
    await expect(seal).rejects.toThrow(ClaimLost)
    expect(await isOver(id)).toBe(false)
  })

  it('is about what is open: those who look and those who seal agree', async () => {
    const { id } = await started()
    await insertSnapshots(db, id, [{ url: URLS[0]! }], { depth: 0, parentId: null })
    for (const status of WORK_STATUSES)
      for (const nextPart of [null, 0, 1]) {
        const change = `status = $2, retry_at = case when $2 = 'sealed' then null else now() end,
          outcome = case when $2 = 'sealed' then 'archived' end`
        await test.query(`update snapshot set ${change} where crawl_id = $1`, [id, status])
        await test.query('update crawl set next_part = $2 where id = $1', [id, nextPart])
        const isThere = (await openSnapshots({ db, dataDirId: id }, id)).open
        expect([status, nextPart, await test.value('select crawl_is_over($1)', [id])]).toEqual([
          status,
          nextPart,
          !isThere,
        ])
        expect([status, nextPart, isThere]).toEqual([status, nextPart, status !== 'sealed' || nextPart !== null])
      }
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

  it('is refused to one who has lost the crawl', async () => {
    const { id, queue, claim } = await started()
    await test.query('update crawl set claim_token = gen_random_uuid() where id = $1', [id])
    await expect(sealCrawl(owner, queue, claim)).rejects.toThrow(ClaimLost)
    expect(await isOver(id)).toBe(false)
  })
})
