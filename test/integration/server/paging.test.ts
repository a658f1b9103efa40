import { afterAll, beforeAll, expect, it } from 'vitest'
import { cursorOf, placeOf } from '../../../src/app/records/cursors.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { eachListed, type Wanted } from '../../../src/db/lists/each-listed.ts'
import { CRAWLS, type Filters, type Listing, RESULTS, SNAPSHOTS } from '../../../src/db/lists/listings.ts'
import { type LargeArchive, makeLargeArchive } from '../../bench/large-archive.ts'
import { useHomes } from '../../support/homes.ts'

const PAGES = 5_000
/** Of no other part of the archive a multiple. */
const AT_ONCE = 97

const homes = useHomes()
let db: Database
let crawls: LargeArchive

beforeAll(async () => {
  const home = await homes.original()
  db = openDatabase(home.databaseUrl, { name: 'the test', connections: 1 })
  crawls = await makeLargeArchive(db, PAGES)
})
afterAll(async () => await db.destroy())

async function listed<Row extends { readonly id: string }>(listing: Listing<Row>, wanted: Wanted): Promise<Row[]> {
  const found: Row[] = []
  await eachListed(db, listing, wanted, (rows) => {
    found.push(...rows)
    return true
  })
  return found
}

/** A list part by part, each by the text that says where the last one ended. */
async function inParts<Row extends { readonly id: string }>(
  listing: Listing<Row>,
  filters: Partial<Filters>,
): Promise<string[]> {
  const ids: string[] = []
  let last: string | undefined
  for (;;) {
    const rows = await listed(listing, { filters, limit: AT_ONCE, ...(last !== undefined && { last: placeOf(last) }) })
    ids.push(...rows.map(({ id }) => id))
    if (rows.length < AT_ONCE) return ids
    last = cursorOf(rows.at(-1)!)
  }
}

const midway = () => new Date(Date.now() - 30 * 86_400_000 + (PAGES / 2) * 1_000)

async function expectWhole<Row extends { readonly id: string }>(listing: Listing<Row>, filters: Partial<Filters>) {
  const whole = await listed(listing, { filters })
  expect(whole.length).toBeGreaterThan(0)
  expect(await inParts(listing, filters)).toEqual(whole.map(({ id }) => id))
}

it.each<[string, () => Promise<void>]>([
  ['crawls', () => expectWhole(CRAWLS, {})],
  ['pages', () => expectWhole(SNAPSHOTS, { status: ['sealed'] })],
  ['pages of a crawl', () => expectWhole(SNAPSHOTS, { crawlId: crawls.old })],
  ['pages by two filters', () => expectWhole(SNAPSHOTS, { outcomes: ['failed'], tags: ['many'] })],
  ['pages by a part of their URL', () => expectWhole(SNAPSHOTS, { urlContains: 'page-12' })],
  ['pages by host and time', () => expectWhole(SNAPSHOTS, { host: 'site-7.example', before: midway() })],
  ['pages by plugin', () => expectWhole(SNAPSHOTS, { plugins: ['favicon'], outcomes: ['partial', 'failed'] })],
  ['pages by text', () => expectWhole(SNAPSHOTS, { text: 'PAGE 12' })],
  ['pages by what was made of them', () => expectWhole(SNAPSHOTS, { made: ['favicon', 'rare'], tags: ['many'] })],
  ['results of pages by text', () => expectWhole(RESULTS, { text: '/page-77', status: ['failed', 'skipped'] })],
  ['crawls by text', () => expectWhole(CRAWLS, { text: 'site-3' })],
  ['crawls by what was made', () => expectWhole(CRAWLS, { made: ['rare'] })],
  ['results', () => expectWhole(RESULTS, { status: ['failed'] })],
  ['results of pages', () => expectWhole(RESULTS, { outcomes: ['failed'], before: midway() })],
  ['results of pages by tag', () => expectWhole(RESULTS, { tags: ['few'] })],
])('a list of %s in parts is the whole list', async (_what, check) => await check())

it('a look at some ends where it says, and goes on there', async () => {
  const filters = { text: 'page 1' }
  const whole = await listed(SNAPSHOTS, { filters })
  const found: string[] = []
  let reach: string | undefined
  let looks = 0
  do {
    const wanted: Wanted = { filters, limit: 1_000_000, look: 500, ...(reach !== undefined && { last: { id: reach } }) }
    reach = await eachListed(db, SNAPSHOTS, wanted, (rows) => {
      found.push(...rows.map(({ id }) => id))
      return true
    })
    looks += 1
  } while (reach !== undefined)
  expect(found).toEqual(whole.map(({ id }) => id))
  expect(looks).toBeGreaterThan(3)
})

it('a place that is none is refused', () => {
  for (const text of ['', 'x', `${crawls.old}.`, `${crawls.old}.x`, `${crawls.old}.${crawls.old}.${crawls.old}`])
    expect(() => placeOf(text)).toThrow(/not a cursor/)
})
