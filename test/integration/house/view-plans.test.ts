// What a person asks of a large archive reads a bounded number of rows: each question is watched by what the server
// says that it read. With statistics, and before the server has any.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findIds } from '../../../src/app/ids.ts'
import { workOf } from '../../../src/app/status/work.ts'
import { firstIdOf, uuidv7 } from '../../../src/base/ids.ts'
import { addUpCounts, allPages, rowCounts } from '../../../src/db/counts.ts'
import { madeBy, onlyPageOf, skippedFor } from '../../../src/db/crawl-progress.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { failureGroups, latestFailures } from '../../../src/db/failures.ts'
import type { Home } from '../../../src/db/home.ts'
import { eachListed } from '../../../src/db/lists/each-listed.ts'
import { CRAWLS, type Filters, type Listing, RESULTS, SNAPSHOTS } from '../../../src/db/lists/listings.ts'
import { claimedCrawls } from '../../../src/db/pages-in-work.ts'
import { SealedPages } from '../../../src/db/sealed-pages.ts'
import { listTags } from '../../../src/db/tags.ts'
import { dueNow, unfinished } from '../../../src/db/unfinished.ts'
import { judgeOldPages } from '../../../src/workers/repair/judge-old-pages.ts'
import { type LargeArchive, makeLargeArchive } from '../../bench/large-archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { rowsRead } from '../../support/rows-read.ts'
import { NIGHTLY } from '../../support/seed.ts'

const homes = useHomes()
const PAGES = NIGHTLY ? 100_000 : 50_000
/** Rows that one question may read, of more than ten times as many in all as there are pages. */
const FEW = PAGES / 20
/** Up to 10,000 ids of a filter are counted: in rows, until a vacuum says that all of them are to be seen. */
const FEW_OF_PAIRS = 25_000
const LIMIT = 20
const DAY_MS = 24 * 3_600_000
/** Long before any page, by any clock. */
const EARLY = new Date(Date.now() - 90 * DAY_MS)

let home: TestHome
let db: Database
let crawls: LargeArchive

beforeAll(async () => {
  home = await homes.original()
  db = openDatabase(home.databaseUrl, { name: 'the test', connections: 1 })
  for (const table of TABLES) await home.query(`alter table ${table} set (autovacuum_enabled = false)`)
  crawls = await makeLargeArchive(db, PAGES)
  await addUpCounts(db)
})
afterAll(() => db.destroy())

const TABLES = [
  'crawl',
  'snapshot',
  'archive_result',
  'page_url',
  'snapshot_tag',
  'row_change',
  'row_total',
  'crawl_total',
]

/** How many rows a list shows. */
async function listed<Row extends { readonly id: string }>(
  listing: Listing<Row>,
  filters: Partial<Filters> = {},
): Promise<number> {
  let shown = 0
  await eachListed(db, listing, { filters, limit: LIMIT }, ({ length }) => {
    shown += length
    return true
  })
  return shown
}

/** How many rows have an id that ends as this one does. */
async function idsByEnd(table: 'snapshot' | 'archive_result'): Promise<number> {
  const id = await home.value<string>(`select id from ${table} order by id limit 1`)
  return (await findIds({ db } as Home, { noun: 'row', table }, [id.slice(-12)])).length
}

/**
 * Whether what they name is frequent or seldom decides on the way, and only statistics say so: until then they may read
 * a table.
 */
const NEED_STATISTICS = new Set(['pages with a part of the URL that all have'])

/** Each question, and how many rows its answer has. */
function questions(): Readonly<Record<string, readonly [() => Promise<unknown>, unknown?]>> {
  const { old, open } = crawls
  const asker = { db } as Home
  return {
    'counts of crawls': [() => rowCounts(db, 'crawl')],
    'counts of pages': [() => rowCounts(db, 'snapshot')],
    'counts of results': [() => rowCounts(db, 'archive_result')],
    'what is due': [() => dueNow(db)],
    'why nothing moves': [() => unfinished(db)],
    'how far a crawl is': [() => workOf(asker, open, 3)],
    'how far all are': [() => workOf(asker, undefined, 3)],
    'how many pages ended how': [() => allPages(db)],
    'which crawls are claimed': [() => claimedCrawls(db)],
    'which pages of a crawl were sealed just now': [() => new SealedPages(open).look(db)],
    'what a crawl lacked': [() => skippedFor(db, old)],
    'what a crawl made': [() => madeBy(db, old)],
    'where the one page of a crawl lies': [() => onlyPageOf(db, old)],
    crawls: [() => listed(CRAWLS), LIMIT],
    'sealed crawls': [() => listed(CRAWLS, { status: ['sealed'] }), LIMIT],
    pages: [() => listed(SNAPSHOTS), LIMIT],
    'queued pages': [() => listed(SNAPSHOTS, { status: ['queued'] }), LIMIT],
    'pages of two statuses': [() => listed(SNAPSHOTS, { status: ['sealed', 'paused'] }), LIMIT],
    'failed pages': [() => listed(SNAPSHOTS, { outcomes: ['failed'] }), LIMIT],
    'pages of two outcomes': [() => listed(SNAPSHOTS, { outcomes: ['failed', 'partial'] }), LIMIT],
    'crawls with failed pages': [() => listed(CRAWLS, { outcomes: ['failed'] }), LIMIT],
    'results of failed pages': [() => listed(RESULTS, { outcomes: ['failed'] }), LIMIT],
    'the latest failures': [async () => (await latestFailures(db, { limit: LIMIT })).length, LIMIT],
    'the latest failures of a crawl': [
      async () => (await latestFailures(db, { crawlId: old, limit: LIMIT })).length,
      LIMIT,
    ],
    'what failed, and why': [async () => (await failureGroups(db)).length > 1, true],
    'what failed of a crawl, and why': [async () => (await failureGroups(db, { crawlId: old })).length > 1, true],
    'how many pages each tag has': [async () => (await listTags(db)).map(({ pages }) => pages), [50, PAGES / 5]],
    'a page by the end of its id': [() => idsByEnd('snapshot'), 1],
    'a result by the end of its id': [() => idsByEnd('archive_result'), 1],
    'old pages that are not judged': [() => judgeOldPages(asker, LIMIT), 0],
    'pages of an old crawl': [() => listed(SNAPSHOTS, { crawlId: old }), LIMIT],
    'pages with a seldom tag': [() => listed(SNAPSHOTS, { tags: ['few'] }), LIMIT],
    'pages with a tag of many': [() => listed(SNAPSHOTS, { tags: ['many'] }), LIMIT],
    'pages with a part of the URL': [() => listed(SNAPSHOTS, { urlContains: 'PAGE-12345' }), 1],
    'pages with a part of the URL that none has': [() => listed(SNAPSHOTS, { urlContains: 'nowhere' }), 0],
    'pages of a host': [() => listed(SNAPSHOTS, { host: 'site-77.example' }), LIMIT],
    'pages of a host that there is not': [() => listed(SNAPSHOTS, { host: 'site-77' }), 0],
    'results of pages of a host': [() => listed(RESULTS, { host: 'site-77.example' }), LIMIT],
    'crawls with a host in their list': [() => listed(CRAWLS, { host: 'site-77.example' }), 1],
    'pages with results of a seldom plugin': [() => listed(SNAPSHOTS, { plugins: ['rare'] }), LIMIT],
    results: [() => listed(RESULTS), LIMIT],
    'failed results': [() => listed(RESULTS, { status: ['failed'] }), LIMIT],
    'results of two statuses': [() => listed(RESULTS, { status: ['failed', 'noresults'] }), LIMIT],
    'results of a seldom plugin': [() => listed(RESULTS, { plugins: ['rare'] }), LIMIT],
    'results of an old crawl': [() => listed(RESULTS, { crawlId: old }), LIMIT],
    'results of a crawl whose pages are all queued': [() => listed(RESULTS, { crawlId: open }), 0],
    'results of pages with a seldom tag': [() => listed(RESULTS, { tags: ['few'] }), LIMIT],
    'results of pages with a part of the URL': [() => listed(RESULTS, { urlContains: 'page-12345' }), 5],
  }
}

/** Questions with two filters, or with a part of URLs: which way is short is found out first. */
function pairs(): ReturnType<typeof questions> {
  const { old } = crawls
  return {
    'failed pages of an old crawl': [() => listed(SNAPSHOTS, { crawlId: old, outcomes: ['failed'] }), LIMIT],
    'failed pages of a host': [() => listed(SNAPSHOTS, { host: 'site-80.example', outcomes: ['failed'] }), LIMIT],
    'failed results of an old crawl': [() => listed(RESULTS, { crawlId: old, status: ['failed'] }), LIMIT],
    'pages with a part of the URL that all have': [() => listed(SNAPSHOTS, { urlContains: '.example/' }), LIMIT],
    'queued pages that are archived': [() => listed(SNAPSHOTS, { status: ['queued'], outcomes: ['archived'] }), 0],
    'queued pages of an old crawl': [() => listed(SNAPSHOTS, { status: ['queued'], crawlId: old }), 0],
    'queued pages with a tag of many': [() => listed(SNAPSHOTS, { status: ['queued'], tags: ['many'] }), 0],
    'pages with a tag of many from before all': [() => listed(SNAPSHOTS, { tags: ['many'], before: EARLY }), 0],
    'archived pages with a seldom tag': [() => listed(SNAPSHOTS, { outcomes: ['archived'], tags: ['few'] }), LIMIT],
    'failed results of a frequent plugin': [() => listed(RESULTS, { plugins: ['html'], status: ['failed'] }), LIMIT],
    'failed results of a seldom plugin': [() => listed(RESULTS, { plugins: ['rare'], status: ['failed'] }), 3],
    'results of two plugins': [() => listed(RESULTS, { plugins: ['rare', 'html'] }), LIMIT],
    'results of a seldom plugin in an old crawl': [() => listed(RESULTS, { plugins: ['rare'], crawlId: old }), LIMIT],
    'results of a seldom plugin with failed pages': [
      () => listed(RESULTS, { plugins: ['rare'], outcomes: ['failed'] }),
      2,
    ],
    'results that succeeded of a crawl whose pages are all queued': [
      () => listed(RESULTS, { crawlId: crawls.open, status: ['succeeded'] }),
      0,
    ],
    'results that succeeded of pages with a tag of many': [
      () => listed(RESULTS, { tags: ['many'], status: ['succeeded'] }),
      LIMIT,
    ],
    'queued results of failed pages': [() => listed(RESULTS, { status: ['queued'], outcomes: ['failed'] }), 0],
    'waiting results of pages with a tag of many': [() => listed(RESULTS, { status: ['backoff'], tags: ['many'] }), 0],
    'results of archived pages from before all': [() => listed(RESULTS, { outcomes: ['archived'], before: EARLY }), 0],
    'crawls with results of a frequent plugin': [() => listed(CRAWLS, { plugins: ['html'] }), LIMIT],
    'sealed crawls with results of a seldom plugin': [
      () => listed(CRAWLS, { status: ['sealed'], plugins: ['rare'] }),
      1,
    ],
  }
}

describe('a question to a large archive', () => {
  it.each([
    ['before there are statistics', undefined],
    ['with statistics', 'vacuum analyze'],
  ])('reads a few rows, %s', async (_when, prepare) => {
    if (prepare) await home.query(prepare)
    const dear: Record<string, number> = {}
    const asked = (all: ReturnType<typeof questions>, few: number) =>
      Object.entries(all).map(([what, question]) => ({ what, question, few }))
    for (const { what, question, few } of [...asked(questions(), FEW), ...asked(pairs(), FEW_OF_PAIRS)]) {
      const [ask, answer] = question
      if (!prepare && NEED_STATISTICS.has(what)) continue
      const read = await rowsRead(db, TABLES, async () => {
        const got = await ask()
        if (answer !== undefined) expect(got, what).toEqual(answer)
      })
      const sum = Object.values(read).reduce((all, rows) => all + rows, 0)
      if (sum > few) dear[what] = sum
    }
    expect(dear).toEqual({})
  })
})

describe('a list with two filters', () => {
  const ofPages = [['sealed'], ['queued'], ['sealed', 'paused']]
  const ofResults = [['failed'], ['succeeded'], ['backoff'], ['failed', 'noresults']]
  it.each([
    ['crawls', () => differing(CRAWLS, ofPages)],
    ['pages', () => differing(SNAPSHOTS, ofPages)],
    ['results', () => differing(RESULTS, ofResults)],
  ])('has the rows that match both: of %s', async (_what, look) => {
    expect(await look()).toEqual([])
  })

  it('has the results of a page whose id tells a later time: an adopted page has that of its bookmark', async () => {
    const page = uuidv7(Date.now() + 90 * DAY_MS)
    await home.query(
      `insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, retry_at)
       values ($1, $2, 'https://later.example/', 'later', 'archive/later', 'sealed', null)`,
      [page, crawls.open],
    )
    await home.query(
      `insert into archive_result (id, snapshot_id, plugin, hook_name, status, end_ts)
       values ($1, $2, 'title', 'on_Snapshot__54_title.js', 'succeeded', now())`,
      [uuidv7(), page],
    )
    expect(await listed(RESULTS, { crawlId: crawls.open, before: new Date(Date.now() + DAY_MS) })).toBe(1)
  })
})

/** So many of a whole list are compared: more than are looked at in its first steps. */
const MANY = 1_500

/** What each filter means of a page. */
const OF_PAGES: Readonly<Record<string, string>> = {
  status: 'it.status = any($1)',
  outcomes: 'p.outcome = any($1)',
  crawlId: 'p.crawl_id = $1',
  tags: 'p.id in (select snapshot_id from snapshot_tag join tag on tag.id = tag_id where name = any($1))',
  host: "strpos(p.url, '://' || $1 || '/') > 0",
  urlContains: 'strpos(p.url, $1) > 0',
  text: "strpos(p.title || ' ' || p.url, $1) > 0",
  plugins: 'it.id in (select snapshot_id from archive_result where plugin = any($1))',
  made: "p.id in (select snapshot_id from archive_result where status = 'succeeded' and plugin = any($1))",
}
const MEANS = {
  crawl: {
    status: 'it.status = any($1)',
    outcomes: 'it.id in (select crawl_id from snapshot where outcome = any($1))',
    crawlId: 'it.id = $1',
    tags: 'it.tags && $1',
    host: "strpos(it.urls, '://' || $1 || '/') > 0",
    urlContains: 'strpos(it.urls, $1) > 0',
    text: 'strpos(it.urls, $1) > 0',
    made: `it.id in (
      select p.crawl_id from snapshot p join archive_result r on r.snapshot_id = p.id
      where r.status = 'succeeded' and r.plugin = any($1))`,
    plugins: `it.id in (
      select p.crawl_id from snapshot p join archive_result r on r.snapshot_id = p.id where r.plugin = any($1))`,
  },
  snapshot: OF_PAGES,
  archive_result: { ...OF_PAGES, plugins: 'it.plugin = any($1)' },
}
const OF_PAGE = ['outcomes', 'crawlId', 'tags', 'host', 'urlContains', 'text', 'made']

/** The pairs of filters with which a list, with a limit or without, has other rows than those that match both. */
async function differing<Row extends { readonly id: string }>(
  listing: Listing<Row>,
  statuses: readonly (readonly string[])[],
): Promise<Partial<Filters>[]> {
  const { table } = listing
  const page = table === 'crawl' ? '' : `join snapshot p on p.id = it.${table === 'snapshot' ? 'id' : 'snapshot_id'}`
  const rows = await home.query<{ id: string; page: string }>(
    `select it.id, ${page ? 'p.id' : 'it.id'} as page from ${table} it ${page} order by it.id`,
  )
  const moment = new Date(Number.parseInt(rows[Math.floor(rows.length / 3)]!.id.replace('-', '').slice(0, 12), 16))
  const values: { readonly [F in Exclude<keyof Filters, 'snapshotId'>]: readonly Filters[F][] } = {
    status: statuses,
    outcomes: [['archived'], ['failed', 'partial']],
    crawlId: [crawls.old, crawls.open],
    tags: [['few'], ['many'], ['few', 'many'], ['none']],
    host: ['site-77.example'],
    urlContains: ['page-1234', '.example/', 'nowhere'],
    text: ['page 77', 'site-7'],
    made: [['title'], ['rare']],
    plugins: [['html'], ['rare'], ['html', 'rare'], ['none']],
    after: [moment],
    before: [moment],
  }
  const matching = async (name: string, value: unknown): Promise<Set<string>> => {
    const isIn = (id: string) => id < firstIdOf(moment) === (name === 'before')
    if (value === moment) return new Set(rows.map(({ id }) => id).filter(isIn))
    const means = (MEANS[table] as typeof OF_PAGES)[name]!
    const found = await home.query<{ id: string }>(`select it.id from ${table} it ${page} where ${means}`, [value])
    return new Set(found.map(({ id }) => id))
  }
  const each = await Promise.all(
    Object.entries(values)
      .flatMap(([name, some]) => some.map((value) => ({ name, value })))
      .map(async (one) => ({ ...one, ids: await matching(one.name, one.value) })),
  )
  const pairs = each.flatMap((one, at) =>
    each.slice(at + 1).flatMap((other) => (one.name === other.name ? [] : [[one, other] as const])),
  )
  const byRow = rows.toReversed()
  const byPage = rows.toSorted((a, b) => (a.page === b.page ? 0 : a.page < b.page ? -1 : 1)).reverse()
  const found: Partial<Filters>[] = []
  for (const [one, other] of pairs) {
    const filters = { [one.name]: one.value, [other.name]: other.value }
    const inOrder = [one, other].some(({ name }) => OF_PAGE.includes(name)) ? byPage : byRow
    const all = inOrder.filter(({ id }) => one.ids.has(id) && other.ids.has(id)).map(({ id }) => id)
    for (const [most, limit] of [[LIMIT, LIMIT], [MANY]] as const)
      if ((await firstOf(listing, filters, most, limit)).join() !== all.slice(0, most).join()) found.push(filters)
  }
  return found
}

/** The ids of the first rows of a list: with a limit, or of the whole one. */
async function firstOf<Row extends { readonly id: string }>(
  listing: Listing<Row>,
  filters: Partial<Filters>,
  most: number,
  limit?: number,
): Promise<string[]> {
  const ids: string[] = []
  await eachListed(db, listing, { filters, ...(limit && { limit }) }, (rows) => {
    ids.push(...rows.map(({ id }) => id))
    return ids.length < most
  })
  return ids.slice(0, most)
}
