// What a page costs must not depend on how many are queued, nor on what the planner knows of the table: each statement
// on its way is watched on a large one, by what the server says that it read.
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { dataDirId } from '../../../src/base/data-dir-id.ts'
import { uuidv7 } from '../../../src/base/ids.ts'
import { addUpCounts } from '../../../src/db/counts.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import type { Home } from '../../../src/db/home.ts'
import { bytesOfHost } from '../../../src/db/host-use.ts'
import { openSnapshots } from '../../../src/db/open-snapshots.ts'
import { insertStarting } from '../../../src/db/processes.ts'
import { insertSnapshots } from '../../../src/db/snapshots.ts'
import { ALL_ENDED, finishPage, skipOpenResults } from '../../../src/machines/finish-page.ts'
import { prepareResults } from '../../../src/machines/prepare-results.ts'
import {
  type CrawlClaim,
  confirmSnapshot,
  crawlQueue,
  type Owner,
  type SnapshotClaim,
  snapshotQueue,
} from '../../../src/machines/queues.ts'
import { writeResults } from '../../../src/machines/results.ts'
import { openCrawls } from '../../../src/machines/scope.ts'
import { currentMachine } from '../../../src/processes/machine.ts'
import { sealCrawl } from '../../../src/workers/crawl/crawl-ends.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { rowsRead } from '../../support/rows-read.ts'

const homes = useHomes()
const MANY = 5_000
/** Rows of a table that one step may read: those it is about, and the few that lie beside them in an index. */
const FEW = 60
/** A statement that is executed more often gets a plan that is kept (PostgreSQL: five). */
const KEPT = 8

let test: TestHome
let db: Database
let owner: Owner
let worker: Owner
let crawlId: string
let crawl: CrawlClaim<'started'>

beforeEach(async () => {
  test = await homes.make()
  for (const table of TABLES) await test.query(`alter table ${table} set (autovacuum_enabled = false)`)
  return async () => await db.destroy()
})
afterEach(async () => {
  // None of it has a history that keeps what is promised of one.
  await test.query('truncate crawl, transition, process, runner_term cascade')
})

/** Makes a leader with a crawl, which has one connection: its counters can be read at once. */
async function lead(embedded: boolean): Promise<void> {
  db = openDatabase(test.databaseUrl, { name: 'the test', connections: 1, embedded })
  const home: Home = {
    db,
    databaseUrl: test.databaseUrl,
    embedded,
    machineId: (await currentMachine(db)).id,
    dataDir: test.dataDir,
    dataDirId: await dataDirId(test.dataDir, () => {}),
  }
  const row = { processType: 'worker', parentId: null, runnerId: null, pwd: '/', cmd: [] } as const
  const processOf = async (workerType: 'crawl' | 'snapshot') => (await insertStarting(home, { ...row, workerType })).id
  owner = { home, processId: await processOf('crawl'), term: 1 }
  worker = { home, processId: await processOf('snapshot'), term: 1 }
  await sql`insert into runner_term values (${home.dataDirId}, 1, ${owner.processId})`.execute(db)
  crawlId = await newCrawl()
  const crawls = crawlQueue(owner, { crawlIds: [crawlId] })
  const claim = await crawls.next()
  crawl = await crawls.move(claim as CrawlClaim<'queued'>, 'start', owner.processId, { next_part: null })
}

async function newCrawl(): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into crawl (id, urls, output_dir) values (${uuidv7()}, 'https://example.com/', 'archive/crawls/x')
      returning id`.execute(db)
  return rows[0]!.id
}

/** Many pages in a crawl. */
async function addMany(crawl: string, status: 'queued' | 'sealed' | 'paused'): Promise<void> {
  await test.query(
    `insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, retry_at)
     select gen_random_uuid(), $1, 'https://example.com/' || n,
       sha256(convert_to('https://example.com/' || n, 'UTF8')), 'archive/x', $2,
       case $2 when 'sealed' then null when 'paused' then '9999-01-01'
         else now() - interval '1 min' + n * interval '1 ms' end
     from generate_series(1, $3::int) n`,
    [crawl, status, MANY],
  )
}

/** Another crawl with as many pages, each with a result and a history. */
async function addSealed(): Promise<void> {
  const other = await newCrawl()
  await test.query(`update crawl set status = 'sealed', retry_at = null where id = $1`, [other])
  await addMany(other, 'sealed')
  await test.query(
    `insert into archive_result (id, snapshot_id, plugin, hook_name, status, end_ts)
     select gen_random_uuid(), s.id, 'html', 'on_Snapshot__20_html.js', 'succeeded', now() from snapshot s
       where crawl_id = $1`,
    [other],
  )
  await test.query(
    `insert into transition (model, row_id, from_status, to_status, event)
      select 'snapshot', id, 'started', 'sealed', 'seal' from snapshot where crawl_id = $1`,
    [other],
  )
}

const TABLES = ['crawl', 'snapshot', 'archive_result', 'transition', 'process']

const HOOKS = [
  { plugin: 'html', name: 'on_Snapshot__20_html.js' },
  { plugin: 'title', name: 'on_Snapshot__54_title.js' },
]

/** One page from its claim to its seal, and what its supervisors ask meanwhile. `watch` is told each step. */
async function onePage(watch: (name: string, step: () => Promise<unknown>) => Promise<void>): Promise<void> {
  const queue = snapshotQueue(worker, owner.processId, {})
  let claim: SnapshotClaim | undefined
  let started: SnapshotClaim<'started'> | undefined
  let results: Awaited<ReturnType<typeof prepareResults>> = []
  await watch('look for crawls', () => openCrawls(owner.home, {}, 20_000))
  await watch('count for a wake-up', () => openSnapshots(owner.home, crawlId))
  await watch('claim', async () => {
    claim = await queue.next()
  })
  expect(claim).toBeDefined()
  await watch('renew', () => queue.renew([claim!]))
  await watch('prepare its results', async () => {
    results = await prepareResults(worker, claim!, HOOKS, [], worker.processId)
    started = { ...claim, state: 'started' } as SnapshotClaim<'started'>
  })
  await watch('a hook', async () => {
    await confirmSnapshot(worker, started!)
    const published = { written: { 'output.html': { size: 1, mimetype: 'text/html' } }, standing: {} }
    await writeResults(worker, started!, [
      { result: results[0]!, event: 'succeed', output: '', processId: worker.processId, published },
      { result: results[1]!, event: 'start', processId: worker.processId },
    ])
  })
  await watch('its findings', async () => {
    const pages = Array.from({ length: 10 }, (_, n) => ({ url: `https://example.com/found/${n}` }))
    await db.transaction().execute((tx) => insertSnapshots(tx, crawlId, pages, { depth: 1, parentId: claim!.id }))
    await db.transaction().execute((tx) => skipOpenResults(tx, claim!.id, 'not there'))
    await finishPage(db, worker, started!, [])
  })
  await watch('seal', () => queue.move(started!, 'seal', worker.processId, { title: 'A title' }, ALL_ENDED))
  const quick = (await queue.next())!
  await watch('one that is done at once', async () => {
    const { processId } = worker
    const ends = HOOKS.map(({ plugin, name }) => ({
      ...({ result: { id: uuidv7(), plugin, hook_name: name }, event: 'succeed', processId } as const),
      published: { written: { 'output.html': { size: 1, mimetype: 'text/html' } }, standing: {} },
    }))
    const { results } = await finishPage(db, worker, quick, ends, performance.now())
    expect(results.map(({ status }) => status)).toEqual(['succeeded', 'succeeded'])
  })
  await queue.move({ ...quick, state: 'started' } as SnapshotClaim<'started'>, 'seal', worker.processId, {}, ALL_ENDED)
  const other = await queue.next()
  await watch('release', () => queue.release(other!, 0))
}

/** A few pages, and one of them from its claim to its seal, so often that plans are kept. */
async function fewPages(): Promise<void> {
  for (let n = 0; n < KEPT; n += 1) {
    await addFew(n)
    await onePage(async (_name, step) => void (await step()))
  }
}

async function addFew(n: number): Promise<void> {
  await sql`
    insert into snapshot (id, crawl_id, url, url_hash, output_dir)
    select gen_random_uuid(), ${crawlId}, u, sha256(convert_to(u, 'UTF8')), 'archive/x'
    from (select 'https://example.com/early/' || ${n}::int || '/' || m as u from generate_series(1, 3) m) as few`.execute(
    db,
  )
}

/** What the planner knows when the pages are there, by how it came about. */
const KNOWN: Readonly<Record<string, () => Promise<void>>> = {
  'with statistics': async () => {
    await addSealed()
    await addMany(crawlId, 'queued')
    await test.query('analyze')
  },
  // As on a large archive, where a new crawl is too few changes for an ANALYZE.
  'with statistics from before the crawl': async () => {
    await addSealed()
    await test.query('vacuum analyze')
    await addMany(crawlId, 'queued')
  },
  'with statistics from before any page was sealed': async () => {
    await addFew(KEPT)
    await test.query('vacuum analyze')
    await fewPages()
    await addSealed()
    await addMany(crawlId, 'queued')
    await sql`discard plans`.execute(db) // As the client does every ten seconds.
  },
  'without statistics, on a connection from when the tables were empty': async () => {
    await fewPages()
    await addSealed()
    await addMany(crawlId, 'queued')
    await sql`discard plans`.execute(db)
  },
}

describe('a page among many queued ones', () => {
  it.each([
    ['with statistics', 'kept prepared'],
    ['with statistics from before the crawl', 'kept prepared'],
    ['with statistics from before the crawl', 'planned each time'],
    ['with statistics from before any page was sealed', 'kept prepared'],
    ['without statistics, on a connection from when the tables were empty', 'kept prepared'],
  ])('reads a few rows at each step, %s; statements are %s', async (known, how) => {
    await lead(how === 'kept prepared')
    await KNOWN[known]!()
    const costs: Record<string, Record<string, number>> = {}
    await onePage(async (name, step) => {
      costs[name] = await rowsRead(db, TABLES, step)
    })
    const dear = Object.entries(costs).filter(([, read]) => Object.values(read).some((rows) => rows > FEW))
    expect(dear).toEqual([])
  })
})

it.each([
  ['with statistics', true],
  ['with the plans, and what was known, when it was small', false],
])('a crawl of many pages is sealed by a few rows, %s', async (_known, analyzed) => {
  await lead(true)
  const crawls = crawlQueue(owner, {})
  await addFew(0)
  await test.query('vacuum analyze')
  for (let n = 0; n < KEPT; n += 1) expect(await sealCrawl(owner, crawls, crawl)).toBe(false)
  await addSealed()
  await addMany(crawlId, 'sealed')
  await test.query(`update snapshot set status = 'sealed', outcome = 'archived', retry_at = null`)
  await addUpCounts(db)
  if (analyzed) await test.query('vacuum analyze')
  const paused = await newCrawl()
  await test.query(`update crawl set status = 'paused', retry_at = '9999-01-01' where id = $1`, [paused])
  await addMany(paused, 'paused')
  let isSealed = false
  const read = await rowsRead(db, TABLES, async () => {
    isSealed = await sealCrawl(owner, crawls, crawl)
  })
  expect(isSealed).toBe(true)
  expect(Object.entries(read).filter(([, rows]) => rows > FEW)).toEqual([])
})

it('the bytes of a host are read from what is kept of it, however many pages it has', async () => {
  await lead(true)
  await addSealed()
  await addMany(crawlId, 'sealed')
  await test.query('update snapshot set output_size = 2')
  const page = { id: uuidv7(), crawlId, url: 'https://example.com/' }
  expect(await bytesOfHost(db, page)).toBe(2 * MANY)
  await test.query(`update snapshot set output_size = 5 where url = 'https://example.com/1'`)
  await addUpCounts(db)
  await test.query(`update snapshot set output_size = 7 where url = 'https://example.com/2'`)
  let bytes: number | undefined
  const read = await rowsRead(db, ['page_url', 'snapshot', 'host_total', 'row_change'], async () => {
    bytes = await bytesOfHost(db, page)
  })
  expect(bytes).toBe(2 * MANY + 3 + 5)
  expect(Object.entries(read).filter(([, rows]) => rows > FEW)).toEqual([])
})
