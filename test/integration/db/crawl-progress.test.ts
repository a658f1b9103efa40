// What screens say of a crawl: how far it is, how fast, how long still where that can be told, and which pages ended.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { crawlProgress } from '../../../src/db/crawl-progress.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { SealedPages } from '../../../src/db/sealed-pages.ts'
import { setClock } from '../../support/fake-clock.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'

const homes = useHomes()
let home: TestHome
let db: Database
let crawl: string

beforeEach(async () => {
  home = await homes.make()
  crawl = await home.add('--depth', '1', 'https://example.org/')
  // No time passes between what ended and a look at it.
  await setClock(home, '2026-01-01T12:00:00Z')
  await home.close()
  db = openDatabase(home.databaseUrl, { name: 'the test' })
  await home.query("update crawl set next_part = null, status = 'started'")
})
afterEach(async () => {
  await home.query('delete from snapshot')
  await home.query("update crawl set status = 'queued', next_part = 0")
  await db.destroy()
})

/** Pages of the crawl that were sealed one after another, the last of them some seconds ago. */
async function sealed(count: number, { from, apart, name = 'page' }: { from: number; apart: number; name?: string }) {
  await home.query(
    `insert into snapshot (id, crawl_id, url, url_hash, output_dir, depth, status, outcome, cause, retry_at, created_at,
      status_changed_at)
     select gen_random_uuid(), $1, url, sha256(url::bytea), 'archive/x', 1, 'sealed', 'failed', 'HTTP 404', null,
       now() - interval '1 hour',
            now() - make_interval(secs => $3::float8 + $4::float8 * ($2 - n))
     from generate_series(1, $2::int) n, lateral (select 'https://example.org/' || $5 || '-' || n as url) named`,
    [crawl, count, from, apart, name],
  )
}

async function queued(count: number, age = '1 hour') {
  await home.query(
    `insert into snapshot (id, crawl_id, url, url_hash, output_dir, depth, created_at)
     select gen_random_uuid(), $1, url, sha256(url::bytea), 'archive/x', 1, now() - $3::interval
     from generate_series(1, $2::int) n, lateral (select 'https://example.org/queued-' || n as url) named`,
    [crawl, count, age],
  )
}

const progress = async () => (await crawlProgress(db, { crawlId: crawl }))[0]!

describe('how long a crawl still takes', () => {
  it('is told by the pace of the last minute', async () => {
    await sealed(21, { from: 0, apart: 0.5 })
    await queued(40)
    const { total, done, counts, pages_per_second: pace, seconds_left: left } = await progress()
    expect({ total, done, failed: counts.failed, queued: counts.queued }).toEqual({
      total: 61,
      done: 21,
      failed: 21,
      queued: 40,
    })
    expect([pace, left]).toEqual([2, 20])
  })

  it('is not told while pages are found, when few ended, or when none has for a while', async () => {
    await sealed(3, { from: 0, apart: 1 })
    await queued(40)
    expect(await progress()).toMatchObject({ grows: false, seconds_left: null, pages_per_second: expect.any(Number) })
    await sealed(30, { from: 0, apart: 0.2, name: 'more' })
    expect((await progress()).seconds_left).not.toBeNull()
    await home.query('update snapshot set created_at = now() where id = (select max(id::text)::uuid from snapshot)')
    expect(await progress()).toMatchObject({ grows: true, seconds_left: null })
    await home.query("update snapshot set created_at = now() - interval '1 hour'")
    await home.query(
      "update snapshot set status_changed_at = status_changed_at - interval '20 s' where status = 'sealed'",
    )
    expect(await progress()).toMatchObject({ grows: false, seconds_left: null, pages_per_second: expect.any(Number) })
  })

  it('is not told when all would be done by now: the last page is a slow one', async () => {
    await sealed(30, { from: 2, apart: 0.2 })
    await queued(30)
    expect((await progress()).seconds_left).not.toBeNull()
    await home.query("delete from snapshot where status = 'queued'")
    await queued(1)
    expect(await progress()).toMatchObject({ seconds_left: null, total: 31 })
  })

  it('counts what of its list is no page yet, and not what its limit leaves out', async () => {
    await sealed(10, { from: 0, apart: 1 })
    await home.query('update crawl set next_part = 1, urls_total = 801')
    expect((await progress()).total).toBe(801)
    await home.query('update crawl set max_urls = 100')
    expect((await progress()).total).toBe(100)
  })
})

describe('pages that ended', () => {
  it('are each told once, in order, however many there are', async () => {
    await sealed(1_201, { from: 1, apart: 0.01 })
    const pages = new SealedPages(crawl)
    const told: string[] = []
    for (let look = 0; look < 5; look += 1) told.push(...(await pages.look(db)).map(({ url }) => url))
    expect(told).toEqual(Array.from({ length: 1_201 }, (_, at) => `https://example.org/page-${at + 1}`))
  })

  it('are told when they show late, as those of a long transaction do', async () => {
    await sealed(5, { from: 0, apart: 0.1 })
    const pages = new SealedPages(crawl)
    expect(await pages.look(db)).toHaveLength(5)
    await sealed(1, { from: 12, apart: 0, name: 'late' })
    expect(await pages.look(db)).toMatchObject([
      { url: 'https://example.org/late-1', outcome: 'failed', cause: 'HTTP 404' },
    ])
    expect(await pages.look(db)).toEqual([])
  })
})
