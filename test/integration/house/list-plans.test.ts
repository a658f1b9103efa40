// What a part of a list, or a page that was found, costs must not depend on how many pages and parts there are.
import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { lockNextPart, passPart } from '../../../src/db/crawl-sources.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { insertSnapshots } from '../../../src/db/snapshots.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { rowsRead } from '../../support/rows-read.ts'

const homes = useHomes()
const MANY = 50_000
/** Rows of a table that one step may read. */
const FEW = 60
const TABLES = ['crawl', 'crawl_source', 'snapshot', 'crawl_total', 'row_change']
const TOKEN = randomUUID()
const CRAWL = randomUUID()

let original: TestHome
let test: TestHome
let db: Database

beforeAll(async () => {
  original = await homes.original()
  for (const table of TABLES) await original.query(`alter table ${table} set (autovacuum_enabled = false)`)
  await original.query(
    `insert into crawl (id, urls, output_dir, max_urls, next_part, claim_token, claimed_by, retry_at)
     values ($1, 'https://example.com/', 'archive/x', $2, 700, $3, $3, now() + interval '1 min')`,
    [CRAWL, MANY + 5, TOKEN],
  )
  await original.query(
    `insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, retry_at)
     select gen_random_uuid(), $1, 'https://example.com/' || n, sha256(convert_to('https://example.com/' || n, 'UTF8')),
       'archive/x', 'sealed', null
     from generate_series(1, $2::int) n`,
    [CRAWL, MANY],
  )
  await original.query(
    `insert into crawl_source select $1, n, 'https://example.com/part/' || n from generate_series(1, 1000) n`,
    [CRAWL],
  )
})
beforeEach(async () => {
  test = await homes.clone(original)
  // One connection, whose counters can be read at once.
  db = openDatabase(test.databaseUrl, { name: 'the test', connections: 1, embedded: true })
  return async () => {
    await db.destroy()
    await homes.discard(test)
  }
})

describe.each([true, false])('among many pages and parts, with statistics: %s', (analyzed) => {
  beforeEach(async () => {
    if (analyzed) await test.query('analyze')
  })

  it('a page that was found is added at the price of one, limit or not, and none beyond the limit', async () => {
    const add = (from: number) =>
      db.transaction().execute(async (tx) => {
        const pages = Array.from({ length: 3 }, (_, n) => ({ url: `https://example.com/found/${from + n}` }))
        return await insertSnapshots(tx, CRAWL, pages, { depth: 1, parentId: null })
      })
    let added: number[] = []
    const read = await rowsRead(db, TABLES, async () => {
      added = [await add(0), await add(3), await add(6)]
    })
    expect(added).toEqual([3, 2, 0])
    expect(Object.entries(read).filter(([, rows]) => rows > FEW)).toEqual([])
    expect(await test.value('select (sum(pages) - $1)::int from crawl_pages', [MANY])).toBe(5)
  })

  it('the next part is found, and passed, at the price of one', async () => {
    let parts: unknown[] = []
    await test.query('update crawl set max_urls = 0')
    const read = await rowsRead(db, TABLES, async () => {
      await db.transaction().execute(async (tx) => {
        const claim = { id: CRAWL, token: TOKEN }
        const first = await lockNextPart(tx, claim)
        await passPart(tx, CRAWL, first!.next!.part)
        const others = [await lockNextPart(tx, claim), await lockNextPart(tx, { ...claim, token: randomUUID() })]
        parts = [first, ...others].map((locked) => locked?.next)
      })
    })
    expect(parts).toEqual([
      { part: 700, urls: 'https://example.com/part/700', details: '', isLast: false },
      { part: 701, urls: 'https://example.com/part/701', details: '', isLast: false },
      undefined,
    ])
    expect(Object.entries(read).filter(([, rows]) => rows > FEW)).toEqual([])
  })
})
