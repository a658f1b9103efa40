// Counts that are kept are those of the rows, whoever changes what; they cost the hot path next to nothing.
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { addUpCounts, type Ended, endedTotals, rowCounts } from '../../../src/db/counts.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { bytesOfHost } from '../../../src/db/host-use.ts'
import { listTags } from '../../../src/db/tags.ts'
import { useDatabases } from '../../support/engine.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { eventually, program, ROOT } from '../../support/program.ts'

const homes = useHomes()
const databases = useDatabases()
let home: TestHome
let db: Database
let crawlId: string

beforeEach(async () => {
  home = await homes.make()
  db = openDatabase(home.databaseUrl, { name: 'the test', connections: 3 })
  crawlId = await newCrawl()
  return async () => await db.destroy()
})

async function newCrawl(): Promise<string> {
  const id = randomUUID()
  await home.query(`insert into crawl (id, urls, output_dir) values ($1, 'https://example.com/', 'archive/x')`, [id])
  return id
}

/** Pages of a crawl, each of 10 bytes, with a result that is at its end and one that is not. */
async function addPages(crawl: string, count: number): Promise<void> {
  await home.query(
    `with page as (
       insert into snapshot (id, crawl_id, url, url_hash, output_dir, output_size)
       select gen_random_uuid(), $1, url, sha256(convert_to(url, 'UTF8')), 'archive/x', 10
       from (select 'https://example.com/' || gen_random_uuid() as url from generate_series(1, $2::int)) made
         returning id
     )
     insert into archive_result (id, snapshot_id, plugin, hook_name, status, end_ts)
     select gen_random_uuid(), id, plugin, 'hook', status, end_ts
     from page, (values ('a', 'failed', now()), ('b', 'queued', null)) as result (plugin, status, end_ts)`,
    [crawl, count],
  )
}

const changes = () => home.value<number>('select count(*)::int from row_change')

/** What the counts say, when they are what the rows say, too. */
async function counted() {
  const rows = async (table: string, bytes: string) =>
    await home.query<{ status: string }>(
      `select status, count(*)::int as rows, ${bytes}::int as bytes from ${table} group by 1`,
    )
  const kept = async (model: Parameters<typeof rowCounts>[1]) =>
    [...(await rowCounts(db, model))].map(([status, { rows, bytes }]) => ({ status, rows, bytes })).sort(byStatus)
  const counts = {
    crawl: await kept('crawl'),
    snapshot: await kept('snapshot'),
    archive_result: await kept('archive_result'),
  }
  const countedRows = async (table: string, bytes = '0') => (await rows(table, bytes)).sort(byStatus)
  expect(counts).toEqual({
    crawl: await countedRows('crawl'),
    snapshot: await countedRows('snapshot', 'sum(output_size)'),
    archive_result: await countedRows('archive_result'),
  })
  const pages =
    'select crawl_id, status, sum(pages)::int as pages from crawl_pages group by 1, 2 having sum(pages) <> 0 ' +
    'order by 1, 2'
  expect(await home.query(pages)).toEqual(
    await home.query('select crawl_id, status, count(*)::int as pages from snapshot group by 1, 2 order by 1, 2'),
  )
  expect((await listTags(db)).map(({ name, pages }) => ({ name, pages }))).toEqual(
    await home.query(`
      select name, count(snapshot_id)::int as pages from tag left join snapshot_tag on tag_id = id
      group by 1 order by 1`),
  )
  expect(
    await home.query(
      `
      select crawl_id, host, sum(bytes)::int as bytes from host_bytes
      group by 1, 2 having sum(bytes) > 0 order by 1, 2`,
    ),
  ).toEqual(
    await home.query(`
      select crawl_id, url_host(lower(url)) as host, sum(output_size)::int as bytes
      from snapshot join crawl_by_host using (crawl_id) where status = 'sealed' group by 1, 2 order by 1, 2`),
  )
  // What is searched by parts is kept in the same way.
  expect(await home.query('select snapshot_id, url from page_url order by 1')).toEqual(
    await home.query('select id as snapshot_id, lower(url) as url from snapshot order by 1'),
  )
  return counts
}

const byStatus = (a: { status: string }, b: { status: string }) => a.status.localeCompare(b.status)

describe('kept counts', () => {
  it('see whatever is done to rows, and are the same after they were added up', async () => {
    const steps: Readonly<Record<string, () => Promise<unknown>>> = {
      'pages are added': () => addPages(crawlId, 5),
      'one is begun': () =>
        home.query("update snapshot set status = 'started' where id = (select min(id::text)::uuid from snapshot)"),
      'all are sealed, and grow': () =>
        home.query("update snapshot set status = 'sealed', retry_at = null, output_size = output_size * 2"),
      'the bytes of hosts are to be kept': () =>
        bytesOfHost(db, { id: crawlId, crawlId, url: 'https://example.com/' }).then((bytes) => expect(bytes).toBe(100)),
      'sealed pages come, one more on another host': async () => {
        await addPages(crawlId, 2)
        await home.query(
          `
          insert into snapshot (id, crawl_id, url, url_hash, output_dir, output_size, status, retry_at)
          values (gen_random_uuid(), $1, 'https://other.example/', '', 'archive/x', 30, 'sealed', null)`,
          [crawlId],
        )
      },
      'one of them is queued again': () =>
        home.query(`
          update snapshot set status = 'queued', retry_at = now()
          where id = (
            select min(id::text)::uuid from snapshot where status = 'sealed' and url <> 'https://other.example/')`),
      'one of them is deleted': () =>
        home.query(`
          delete from snapshot
          where id = (
            select max(id::text)::uuid from snapshot where status = 'sealed' and url <> 'https://other.example/')`),
      'results are begun': () =>
        home.query("update archive_result set status = 'started', start_ts = now() where plugin = 'b'"),
      'results come to their end': () =>
        home.query(`
          update archive_result set status = 'succeeded', end_ts = start_ts + interval '1.5 s'
          where status = 'started'`),
      'one of them took longer': () =>
        home.query(`
          update archive_result set end_ts = end_ts + interval '1 min'
          where id = (select min(id::text)::uuid from archive_result where status = 'succeeded')`),
      'results are run again': () =>
        home.query(
          "update archive_result set status = 'queued', end_ts = null where status = 'failed' and plugin = 'a'",
        ),
      'results change their mind': () =>
        home.query("update archive_result set status = 'skipped' where status = 'succeeded'"),
      'a page has another URL, on another host': () =>
        home.query("update snapshot set url = 'https://example.com/Other' where url = 'https://other.example/'"),
      'pages get tags': () =>
        home.query(`
          with tags as (insert into tag (name) values ('a'), ('b'), ('c') returning id, name)
          insert into snapshot_tag select s.id, t.id from snapshot s, tags t`),
      'a page loses one': () =>
        home.query(`
          delete from snapshot_tag where tag_id = (select id from tag where name = 'a')
            and snapshot_id = (select min(id::text)::uuid from snapshot)`),
      'a page has another one': () =>
        home.query(`
          update snapshot_tag set tag_id = (select id from tag where name = 'a')
          where tag_id = (select id from tag where name = 'b')
            and snapshot_id = (select min(id::text)::uuid from snapshot)`),
      'a tag is deleted': () => home.query("delete from tag where name = 'c'"),
      'a page with tags is deleted': () =>
        home.query('delete from snapshot where id = (select max(id::text)::uuid from snapshot)'),
      'a page moves to another crawl': async () =>
        home.query('update snapshot set crawl_id = $1 where id = (select max(id::text)::uuid from snapshot)', [
          await newCrawl(),
        ]),
      'a result is deleted': () =>
        home.query('delete from archive_result where id = (select min(id::text)::uuid from archive_result)'),
      'a crawl is sealed': () =>
        home.query("update crawl set status = 'sealed', retry_at = null where id = $1", [crawlId]),
      'a crawl is deleted, with what is below it': () => home.query('delete from crawl where id = $1', [crawlId]),
      'everything is emptied': () => home.query('truncate crawl cascade'),
      'and begun anew': async () => addPages(await newCrawl(), 2),
    }
    for (const [what, step] of Object.entries(steps)) {
      await step()
      const before = await counted().catch((error: unknown) => expect.fail(`${what}: ${String(error)}`))
      await addUpCounts(db)
      expect(await changes(), what).toBe(0)
      expect(await counted(), what).toEqual(before)
    }
    const left = `
      select (select count(*) from crawl_total where crawl_id <> all(array(select id from crawl)))::int
        + (select count(*) from row_total where model = 'snapshot_tag')::int`
    expect(await home.value(left)).toBe(0)
  })

  it('tell what has ended in all: a change of what ended adds nothing, a deletion takes nothing away', async () => {
    const ended = async () => await endedTotals(db)
    const hook = (kind: string, count: number, seconds = 0) => ({
      model: 'archive_result',
      kind,
      ended: count,
      seconds,
    })
    const page = (kind: string, count: number) => ({ model: 'snapshot', kind, ended: count, seconds: 0 })
    const steps: readonly (readonly [sql: string, then: object[]])[] = [
      ['select', [hook('a', 2)]],
      [
        `update archive_result set status = 'succeeded', start_ts = now(), end_ts = now() + interval '1.5 s'
          where plugin = 'b'`,
        [hook('a', 2), hook('b', 2, 3)],
      ],
      [
        "update snapshot set status = 'sealed', retry_at = null, outcome = 'failed', cause = 'x'",
        [hook('a', 2), hook('b', 2, 3), page('failed', 2)],
      ],
      [
        "update snapshot set output_size = output_size + 1; update archive_result set status = 'skipped'",
        [hook('a', 2), hook('b', 2, 3), page('failed', 2)],
      ],
      [
        `update snapshot set status = 'queued', retry_at = now(), outcome = null, cause = null;
          update snapshot set status = 'sealed', retry_at = null, outcome = 'archived'`,
        [hook('a', 2), hook('b', 2, 3), page('archived', 2), page('failed', 2)],
      ],
      ['delete from crawl', [hook('a', 2), hook('b', 2, 3), page('archived', 2), page('failed', 2)]],
    ]
    await addPages(crawlId, 2)
    for (const [sql, then] of steps) {
      await home.query(sql)
      expect(await ended(), sql).toEqual(then)
    }
    const before: Ended[] = await ended()
    await addUpCounts(db)
    expect(await ended()).toEqual(before)
    expect(await changes()).toBe(0)
  })

  it('are taken back with the transaction that made them', async () => {
    await addPages(crawlId, 3)
    const before = await counted()
    const undone = db.transaction().execute(async (tx) => {
      await sql`update snapshot set status = 'started'`.execute(tx)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await counted()).toEqual(before)
  })

  it('make nobody wait: pages of one crawl are changed, and counts added up, beside an open transaction', async () => {
    await addPages(crawlId, 2)
    const [one, other] = await home.query<{ id: string }>('select id from snapshot')
    await db.transaction().execute(async (tx) => {
      await sql`update snapshot set status = 'started' where id = ${one!.id}`.execute(tx)
      await sql`set lock_timeout = '2s'`.execute(db)
      await home.query("update snapshot set status = 'started' where id = $1", [other!.id])
      await addUpCounts(db)
    })
    await counted()
    await addUpCounts(db)
    await counted()
  })

  it('of hosts begin with all that is there, what is written at that moment included', async () => {
    await addPages(crawlId, 2)
    const { asked } = await db.transaction().execute(async (tx) => {
      await sql`update snapshot set status = 'sealed', retry_at = null`.execute(tx)
      const bytes = bytesOfHost(db, { id: crawlId, crawlId, url: 'https://example.com/' })
      await delay(300)
      return { asked: bytes }
    })
    expect(await asked).toBe(20)
    await counted()
    await home.query('delete from crawl') // Its pages were not sealed as pages are.
  })

  it('are added up once, however many do it at a time, more than one statement takes included', async () => {
    await addPages(crawlId, 1)
    await home.query(
      "insert into row_change (model, status, rows) select 'crawl', 'sealed', 1 from generate_series(1, 45000)",
    )
    await Promise.all([addUpCounts(db), addUpCounts(db), addUpCounts(db)])
    expect(await changes()).toBe(0)
    expect((await rowCounts(db, 'crawl')).get('sealed')).toEqual({ rows: 45_000, bytes: 0 })
    await home.query("update row_total set rows = 0 where model = 'crawl' and status = 'sealed'")
  })

  it('are added up by whoever leads', async () => {
    await addPages(crawlId, 3)
    await home.query("update crawl set status = 'paused', retry_at = '9999-01-01'")
    const before = await counted()
    const runner = home.start(['run'])
    await eventually(async () => (await changes()) === 0)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
    expect(await counted()).toEqual(before)
  })

  it('cost a lease nothing', async () => {
    await addPages(crawlId, 10)
    const before = await changes()
    await home.query(
      "update snapshot set retry_at = now() + interval '1 min', claim_token = gen_random_uuid(), " +
        'claimed_by = gen_random_uuid()',
    )
    await home.query('update snapshot set claim_token = null, claimed_by = null, retry_at = now()')
    await home.query('update crawl set modified_at = now()')
    await home.query("update archive_result set output_str = 'said' where status = 'failed'")
    expect(await changes()).toBe(before)
  })
})

describe('a database from before there were counts', () => {
  it('has its rows counted, and its URLs found, when it is brought up to date', async () => {
    const folder = join(ROOT, 'src', 'db', 'migrations')
    const files = readdirSync(folder).filter((file) => file.endsWith('.sql') && file < '0013')
    const old = await databases.make(
      'create table schema_migration (version integer primary key, name text not null, ' +
        'applied_at timestamptz not null default now())',
      ...files.sort().map((file) => readFileSync(join(folder, file), 'utf8')),
      ...files.map(
        (file) => `insert into schema_migration (version, name) values (${Number(file.slice(0, 4))}, 'old')`,
      ),
      `insert into crawl (id, urls, output_dir) values (gen_random_uuid(), 'http://x/', 'c')`,
      `insert into snapshot (id, crawl_id, url, url_hash, output_dir, output_size)
        select gen_random_uuid(), id, 'http://x/Old', '', 's', 26 from crawl`,
      `insert into archive_result (id, snapshot_id, plugin, hook_name, status, end_ts)
        select gen_random_uuid(), id, 'a', 'a', 'failed', now() from snapshot`,
      `with made as (insert into tag (name) values ('old') returning id)
        insert into snapshot_tag select s.id, made.id from snapshot s, made`,
    )
    const { code, stderr } = await program(['init'], { env: { DATA_DIR: home.dataDir, DATABASE_URL: old.url } })
    expect(code, stderr).toBe(0)
    expect(await old.query('select model, status, rows::int, bytes::int from row_count order by 1')).toEqual([
      { model: 'archive_result', status: 'failed', rows: 1, bytes: 0 },
      { model: 'crawl', status: 'queued', rows: 1, bytes: 0 },
      { model: 'snapshot', status: 'queued', rows: 1, bytes: 26 },
      {
        model: 'snapshot_tag',
        status: await old.value("select id::text from tag where name = 'old'"),
        rows: 1,
        bytes: 0,
      },
    ])
    expect(await old.query('select status, pages::int from crawl_pages')).toEqual([{ status: 'queued', pages: 1 }])
    expect(await old.value("select count(*)::int from page_url where url like '%/old'")).toBe(1)
  })

  it('is searched by parts of URLs, too, where the server does not let us have the extension for that', async () => {
    const role = `plain_${randomUUID().slice(-12)}`
    const plain = await databases.make(`create role ${role}`, `grant all on schema public to ${role}`)
    const name = await plain.value<string>('select current_database()')
    await plain.query(`alter database ${name} set role = '${role}'`)
    const call = { env: { DATA_DIR: home.dataDir, DATABASE_URL: plain.url } }
    for (const args of [['init'], ['add', 'https://example.com/']]) {
      const { code, stderr } = await program(args, call)
      expect(code, stderr).toBe(0)
    }
    await plain.query(
      `insert into snapshot (id, crawl_id, url, url_hash, output_dir)
        select gen_random_uuid(), id, 'https://example.com/A_part', '', 'archive/x' from crawl`,
    )
    expect(await plain.value("select count(*)::int from pg_extension where extname = 'pg_trgm'")).toBe(0)
    const { stdout } = await program(['snapshot', 'list', '--url__icontains', 'a_PART'], call)
    expect(JSON.parse(stdout)).toMatchObject({ url: 'https://example.com/A_part' })
  })
})
