import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { headerFrame, inspectBackup } from '../../../src/db/backup/backup-file.ts'
import { readBackup } from '../../../src/db/backup/read-backup.ts'
import { writeBackup } from '../../../src/db/backup/write-backup.ts'
import { migrations } from '../../../src/db/migrate.ts'
import { settleRestored } from '../../../src/machines/queues.ts'
import { expectComplete } from '../../support/archive.ts'
import { useDatabases } from '../../support/engine.ts'
import { newFolder, TestHome, useHomes } from '../../support/homes.ts'
import { eventually, program } from '../../support/program.ts'
import { brokenPromises } from '../../support/promises.ts'
import { runAll } from '../../support/queued.ts'
import { type Site, startSite } from '../../support/site.ts'
import { working } from '../../support/working.ts'

const NEWEST = migrations().at(-1)!.version
const STABLE = ['archive_result', 'crawl_source', 'machine', 'page_url', 'snapshot_tag', 'tag']
const never = new AbortController().signal
const here = { settle: async () => {}, isOurs: false, stop: never }

interface Asked {
  query<T extends Record<string, unknown>>(sql: string, values?: readonly unknown[]): Promise<T[]>
}

/** Whatever the migrations have made, as the catalogue tells it. */
async function catalogueOf(db: Asked): Promise<unknown> {
  return {
    tables: await db.query(`select relname::text from pg_class where relkind in ('r', 'v', 'S') and
      relnamespace = 'public'::regnamespace order by 1`),
    indexes: await db.query(`select pg_get_indexdef(indexrelid) as index, indisvalid from pg_index
      where indrelid::regclass::text !~ '^pg_' order by 1`),
    keys: await db.query(`select conrelid::regclass::text, conname::text, pg_get_constraintdef(oid) as def
      from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2`),
    triggers: await db.query(`select pg_get_triggerdef(oid) as trigger, tgenabled from pg_trigger
      where not tgisinternal order by 1`),
  }
}

const homes = useHomes()
const databases = useDatabases()
let site: Site
let folder: string
let source: TestHome
let file: string
let atWork: { crawl: string; end(): Promise<void> }
let done: string

beforeAll(async () => {
  site = await startSite(3)
  folder = newFolder()
  file = join(folder, 'rows.zst')
  source = await homes.original()
  done = await source.add('--plugins', 'html,hashes', '--tag', 'kept', `${site.url}/page-1.html`)
  await runAll(source)
  atWork = await working(source, `${site.url}/page-2.html`)
  await source.query(`
    insert into schedule (id, every, cron, timezone, urls, crawl, next_at, retry_at, claim_token, claimed_by)
    select id, 'day', '0 0 * * *', 'UTC', 'http://x/', '{}', '2099-01-01', '2098-01-01', id, id
    from gen_random_uuid() id`)
  const { code, stderr } = await source.run(['backup', file])
  expect(code, stderr).toBe(0)
  expect(stderr).toContain('2 pages of 2 crawls')
  await source.query('delete from schedule')
})
afterAll(async () => {
  await atWork.end()
  await site.close()
  rmSync(folder, { recursive: true, force: true })
})

const restored = async (dataDir: string, databaseUrl: string, from = file) =>
  await program(['restore', from], { env: { DATA_DIR: dataDir, DATABASE_URL: databaseUrl } })

describe('a backup of an archive at work', () => {
  let dataDir: string
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

  it('becomes the same archive elsewhere, where what was under way goes on', async () => {
    dataDir = newFolder()
    for (const path of readFileSync(`${file}.files`, 'utf8').trimEnd().split('\n')) {
      mkdirSync(dirname(join(dataDir, path)), { recursive: true })
      if (existsSync(join(source.dataDir, path)))
        cpSync(join(source.dataDir, path), join(dataDir, path), { recursive: true })
    }
    const there = await databases.make()
    const { code, stderr } = await restored(dataDir, there.url)
    expect(code, stderr).toBe(0)

    for (const table of STABLE) {
      // The files came along: they are on another node.
      const row = "to_jsonb(t) - '{node_id,home_node}'::text[]"
      const rows = `select ${row} as row from ${table} t order by (${row})::text`
      expect(await there.query(rows), table).toEqual(await source.query(rows))
    }
    const pages = `select id, crawl_id, url, title, depth, status, outcome, output_dir, output_size, created_at
      from snapshot order by id`
    expect(await there.query(pages)).toEqual(await source.query(pages))
    expect(await catalogueOf(there)).toEqual(await catalogueOf(source))
    expect(await brokenPromises(there)).toEqual([])
    expect(await there.query('select from snapshot where claim_token is not null or retry_at > now()')).toEqual([])
    expect(await there.query('select from process where ended_at is null')).toEqual([])
    expect(await there.query('select claimed_by from schedule')).toEqual([{ claimed_by: null }])
    // The number of the restoring transaction, for the server's own mean nothing elsewhere.
    const changed = 'select min(changed::text::bigint)::int from archived_page'
    expect(await there.value<number>(changed)).toBeGreaterThan(await source.value<number>(changed))

    await there.query("update crawl set config = jsonb_set(config, '{env,SLOW_SECONDS}', '\"0\"')")
    const env = { DATA_DIR: dataDir, DATABASE_URL: there.url }
    const ran = await program(['run', '--exit-on-idle'], { env })
    expect(ran.code, ran.stderr).toBe(0)
    const home = new TestHome(dataDir, there.url, {})
    await expectComplete(home, done).finally(() => home.close())
    expect(await there.query("select from snapshot where outcome <> 'archived' or outcome is null")).toEqual([])

    const again = await restored(dataDir, there.url)
    expect(again.code).toBe(2)
    expect(again.stderr).toMatch(/an archive here already/)
  })

  it('goes into a data dir that nothing was added to yet', async () => {
    const fresh = await homes.make()
    dataDir = newFolder()
    const { code, stderr } = await fresh.run(['restore', file])
    expect(code, stderr).toBe(0)
    expect(await fresh.value('select count(*)::int from snapshot')).toBe(2)
    expect(await catalogueOf(fresh)).toEqual(await catalogueOf(source))
  })

  it('holds every table that the migrations have made, but for who may look', async () => {
    dataDir = newFolder()
    const { header } = await inspectBackup(file)
    const tables = await source.query<{ name: string }>(`
      select relname::text as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
        and relname not in ('schema_migration', 'web_session', 'login_code', 'backup', 'plugin_meaning')
      order by 1`)
    expect(header.tables.map(({ name }) => name)).toEqual(tables.map(({ name }) => name))
  })

  it('is refused, and nothing is changed, when it is cut off, damaged, foreign or of a newer program', async () => {
    dataDir = newFolder()
    const whole = readFileSync(file)
    const empty = await databases.make()
    const refused = async (bytes: Buffer, reason: RegExp) => {
      const broken = join(folder, 'broken.zst')
      writeFileSync(broken, bytes)
      await expect(inspectBackup(broken)).rejects.toThrow(reason)
    }
    for (const length of [whole.length - 1, whole.length - 300, whole.length >> 1, 2_000, 100])
      await refused(whole.subarray(0, length), /cut off or damaged/)
    await refused(Buffer.alloc(0), /is not a backup of archivebox-ts/)
    await refused(readFileSync(import.meta.filename), /is not a backup of archivebox-ts/)
    for (const at of [whole.length >> 1, (whole.length * 3) >> 2]) {
      const changed = Buffer.from(whole)
      changed[at]! ^= 1
      await refused(changed, /its checksum differs/)
    }
    const backup = await inspectBackup(file)
    const newer = { ...backup, header: { ...backup.header, schema: NEWEST + 1 } }
    await expect(readBackup(empty.url, newer, here)).rejects.toThrow(/schema version/)
    const lying = { ...backup, trailer: { ...backup.trailer, rows: { ...backup.trailer.rows, tag: 7 } } }
    await expect(readBackup(empty.url, lying, here)).rejects.toThrow(/1 rows of tag/)

    truncateSync(join(folder, 'broken.zst'), whole.length >> 1)
    const { code, stderr } = await restored(dataDir, empty.url, join(folder, 'broken.zst'))
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: .*cut off or damaged/)
    expect(existsSync(join(dataDir, 'archivebox.toml'))).toBe(false)
    expect(await empty.query("select from pg_tables where schemaname = 'public'")).toEqual([])
  })

  it('is given up at once when a signal comes, whatever it waits for', async () => {
    dataDir = newFolder()
    const locked = new pg.Client({ connectionString: source.databaseUrl })
    await locked.connect()
    try {
      await locked.query('begin; lock table tag in access exclusive mode')
      const stop = new AbortController()
      const given = writeBackup(source.databaseUrl, join(dataDir, 'rows.zst'), stop.signal)
      given.catch(() => {})
      await eventually(() =>
        source.value("select true from pg_stat_activity where query ~ '^copy' and wait_event_type = 'Lock'"),
      )
      stop.abort()
      await expect(given).rejects.toThrow()
      expect(readdirSync(dataDir)).toEqual([])
    } finally {
      await locked.end()
    }
  })

  it('replaces an earlier backup, and no other file', async () => {
    dataDir = newFolder()
    const notes = join(dataDir, 'notes.txt')
    writeFileSync(notes, 'mine')
    await expect(writeBackup(source.databaseUrl, notes, never)).rejects.toThrow(/not replaced/)
    expect(readFileSync(notes, 'utf8')).toBe('mine')
    const copy = join(dataDir, 'copy.zst')
    cpSync(file, copy)
    await expect(writeBackup(source.databaseUrl, copy, AbortSignal.abort())).rejects.toThrow()
    expect(readFileSync(copy)).toEqual(readFileSync(file))
    expect(readdirSync(dataDir).sort()).toEqual(['copy.zst', 'notes.txt'])
    writeFileSync(`${copy}.files`, 'mine')
    await expect(writeBackup(source.databaseUrl, copy, never)).rejects.toThrow(/copy.zst.files is not one of our lists/)
    expect(readFileSync(`${copy}.files`, 'utf8')).toBe('mine')
    rmSync(`${copy}.files`)
    // What another backup to this name is writing stays its own.
    writeFileSync(`${copy}.part`, 'of another')
    const mine = `${copy}.${process.pid}.part`
    writeFileSync(mine, 'of another')
    await expect(writeBackup(source.databaseUrl, copy, never)).rejects.toThrow(/EEXIST/)
    expect(readFileSync(mine, 'utf8')).toBe('of another')
    rmSync(mine)
    await writeBackup(source.databaseUrl, copy, never)
    expect(readFileSync(`${copy}.part`, 'utf8')).toBe('of another')
    expect((await inspectBackup(copy)).header.made_at).not.toBe((await inspectBackup(file)).header.made_at)
  })
})

it('a backup of an older schema is brought up to date', async () => {
  const older = migrations().filter(({ version }) => version <= 14)
  const old = await databases.make(
    'create table schema_migration (version integer primary key, name text, applied_at timestamptz default now())',
    ...older.map((migration) => readFileSync(migration.file, 'utf8')),
    "insert into schema_migration (version, name) values (14, 'outcomes')",
    `insert into crawl (id, urls, output_dir, status, retry_at, claim_token, claimed_by)
      select id, 'http://x/', 'c', 'started', now() + interval '1 day', id, id from gen_random_uuid() id`,
    `insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, retry_at)
      select gen_random_uuid(), id, 'http://x/', '', 's', 'sealed', null from crawl`,
  )
  const folder = newFolder()
  try {
    await writeBackup(old.url, join(folder, 'old.zst'), never)
    const there = await databases.make()
    await readBackup(there.url, await inspectBackup(join(folder, 'old.zst')), { ...here, settle: settleRestored })
    expect(await there.query('select from crawl where claimed_by is not null or retry_at > now()')).toEqual([])
    expect(await there.value('select max(version) from schema_migration')).toBe(NEWEST)
    expect(await there.query('select number::int, url_hash from archived_page')).toHaveLength(1)
    expect(await there.query('select url from page_url')).toEqual([{ url: 'http://x/' }])

    const begun = await homes.make()
    const backup = await inspectBackup(join(folder, 'old.zst'))
    await expect(readBackup(begun.databaseUrl, backup, here)).rejects.toThrow(/schema version/)
    await readBackup(begun.databaseUrl, backup, { ...here, isOurs: true })
    expect(await begun.value('select count(*)::int from snapshot')).toBe(1)
    expect(await catalogueOf(begun)).toEqual(await catalogueOf(there))
    await begun.query('truncate crawl cascade') // No page of an older release keeps the promises of today.
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

it('a file of a newer format is named as such', async () => {
  const folder = newFolder()
  const header = JSON.parse(
    headerFrame({ version: '9.0.0', schema: 1, made_at: '', server_version: '', tables: [] }).subarray(8).toString(),
  ) as object
  const json = Buffer.from(JSON.stringify({ ...header, archivebox_ts_backup: 2 }))
  const frame = Buffer.concat([Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]), json])
  frame.writeUInt32LE(json.length, 4)
  writeFileSync(join(folder, 'newer.zst'), frame)
  await expect(inspectBackup(join(folder, 'newer.zst'))).rejects.toThrow(/newer archivebox-ts \(9.0.0\)/)
  rmSync(folder, { recursive: true, force: true })
})
