// A change of the schema says what it takes, finds room for it, keeps the rows as they were, and can be killed.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { machineGuid } from '../../../src/base/machine-file.ts'
import { migrations } from '../../../src/db/migrate.ts'
import { notesOf } from '../../../src/db/migration-plan.ts'
import { type TestDatabase, useDatabases } from '../../support/engine.ts'
import { newFolder, TestHome } from '../../support/homes.ts'
import { keptDataDir } from '../../support/kept-data-dirs.ts'
import { eventually } from '../../support/program.ts'

const NEWEST = migrations().at(-1)!.version
/** It lacks most of the migrations that write many rows. */
const OLD = '0009'
/** Tables with a row for each page, crawl, process or list of an archive: what takes long is about these. */
const LARGE = [
  ...['crawl', 'snapshot', 'archive_result', 'process', 'transition', 'snapshot_tag', 'page_url', 'archived_page'],
  ...['crawl_source', 'crawl_detail'],
]

const databases = useDatabases()

interface Kept {
  readonly home: TestHome
  readonly database: TestDatabase
}

async function kept(name = OLD): Promise<Kept> {
  const here = { machine: machineGuid(), host: hostname(), site: '127.0.0.1:9' }
  const { dataDir, database } = await keptDataDir(name, databases.make, here)
  const home = new TestHome(dataDir, database.url, {})
  onTestFinished(async () => {
    await home.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  return { home, database }
}

const versionOf = (database: TestDatabase) => database.value<number>('select max(version) from schema_migration')
const backupOf = ({ dataDir }: TestHome) => join(dataDir, 'backups', 'before-upgrade.zst')
const waiting = (database: TestDatabase) =>
  database.value<boolean>(`select exists (select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock')`)

describe('the head of a migration', () => {
  it('says what is different for people', () => {
    for (const migration of migrations()) {
      expect(notesOf(migration).changes, migration.name).toMatch(/^[a-z`].{20,}[^.]$/)
    }
  })

  it('names every large table that it rewrites, and every one that it reads for an index', async () => {
    const { database } = await kept('0001')
    const client = new pg.Client({ connectionString: database.url })
    client.on('error', () => {}) // Its database is removed first.
    await client.connect()
    onTestFinished(() => client.end())
    const list = async (sql: string) => (await client.query<{ name: string }>(sql)).rows.map(({ name }) => name)
    const files = () => list("select relname || ' ' || relfilenode as name from pg_class where relkind = 'r'")
    const indexes = () =>
      list("select tablename || ' ' || indexdef as name from pg_indexes where schemaname = 'public'")
    const writes = () =>
      list(`select relname || ' ' || n_tup_upd + n_tup_del as name from pg_stat_xact_user_tables
        where n_tup_upd + n_tup_del > 0`)
    const since = (before: readonly string[], now: readonly string[]) =>
      now.filter((line) => !before.includes(line)).map((line) => line.split(' ')[0]!)
    let seen = 0
    for (const migration of migrations().slice(1)) {
      await client.query('begin')
      const [tables, made, before] = [await files(), await indexes(), await writes()]
      const isThere = (name: string) => tables.some((table) => table.startsWith(`${name} `))
      await client.query(readFileSync(migration.file, 'utf8'))
      const moved = since(tables, await files())
      const written = since(before, await writes())
      const indexed = since(made, await indexes())
      await client.query('commit')
      const isOld = (name: string) => LARGE.includes(name) && isThere(name)
      const { rewrites, reads } = notesOf(migration)
      const rewritten = [...written, ...moved].filter(isOld)
      // The index of what each page has one of is named by the pages, which older schemas have, too.
      const read = indexed.filter(isOld).map((name) => (name === 'page_url' ? 'snapshot' : name))
      expect(
        rewritten.filter((name) => !rewrites.includes(name)),
        migration.name,
      ).toEqual([])
      expect(
        read.filter((name) => !reads.includes(name) && !rewrites.includes(name)),
        migration.name,
      ).toEqual([])
      expect(
        [...rewrites, ...reads].filter((name) => !isOld(name)),
        migration.name,
      ).toEqual([])
      seen += rewritten.length + read.length
    }
    expect(seen).toBeGreaterThan(15)
  })
})

describe('a change of the schema', () => {
  it('says before it begins how long it will take, when that is long', async () => {
    const { home, database } = await kept()
    const dry = async () => JSON.parse((await home.run(['db', 'migrate', '--dry-run', '--json'])).stdout) as object
    expect(await dry()).toMatchObject({ from: 9, seconds: 0 })
    // What the server knows of a table's size: nobody counts the rows of a large one for this.
    await database.query("update pg_class set reltuples = 2e6 where relname in ('snapshot', 'archive_result')")
    expect(await dry()).toMatchObject({ from: 9, to: NEWEST, applied: [] })
    const { code, stderr } = await home.run(['init'])
    expect(code, stderr).toBe(0)
    const said = /from version 9 to \d+, ([\d,]+) rows to write, about (\d+) min; if it is interrupted, nothing has/
    expect(said.exec(stderr)?.[1]).toMatch(/^8,0/) // Four migrations write as many rows as there are pages or results.
    expect(stderr.search(said)).toBeLessThan(stderr.indexOf('applied'))
  })

  it('keeps the rows as they were, where a restore takes them from', async () => {
    const { home, database } = await kept()
    const { code, stderr } = await home.run(['init'])
    expect(code, stderr).toBe(0)
    expect(stderr).toContain(`the rows as they were, of schema version 9: ${backupOf(home)}`)
    const empty = await databases.make()
    const restored = new TestHome(newFolder(), empty.url, {})
    onTestFinished(async () => {
      await restored.close()
      rmSync(restored.dataDir, { recursive: true, force: true })
    })
    expect((await restored.run(['restore', backupOf(home)])).code).toBe(0)
    for (const table of ['crawl', 'snapshot', 'archive_result'])
      expect(await restored.query(`select id, status from ${table} order by id`)).toEqual(
        await database.query(`select id, status from ${table} order by id`),
      )
    // One that writes few rows needs none.
    const newer = await kept('0042')
    expect((await newer.home.run(['init'])).stderr).not.toContain('as they were')
    expect(existsSync(backupOf(newer.home))).toBe(false)
  })

  it.skipIf(process.getuid?.() !== 0)('is refused with one line when there is no room for it (as root)', async () => {
    const { home, database } = await kept()
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', home.dataDir])
    expect(mounted.stderr.toString()).toBe('')
    onTestFinished(() => void spawnSync('umount', [home.dataDir]))
    const { code, stderr } = await home.run(['init', '--force'])
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(/^error: the change of the schema from version 9 to \d+ takes about .* where .* are free$/m)
    expect(stderr).toMatch(/^hint: {2}nothing was changed; make room there/m)
    expect(await versionOf(database)).toBe(9)
    expect(readdirSync(home.dataDir)).not.toContain('backups')
  })

  it.each([
    ['interrupted while it keeps the rows', 'SIGINT', 'lock table snapshot_tag in access exclusive mode', 130],
    ['killed while it keeps the rows', 'SIGKILL', 'lock table snapshot_tag in access exclusive mode', null],
    ['killed while it changes the tables', 'SIGKILL', 'lock table crawl in access share mode', null],
  ] as const)('that is %s has changed nothing, and is made by the next command', async (_, signal, lock, ended) => {
    const { home, database } = await kept()
    const holder = new pg.Client({ connectionString: database.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query(lock)
    const init = home.start(['init'])
    await eventually(() => waiting(database))
    init.signal(signal)
    expect((await init.finished()).code, init.stderr).toBe(ended)
    await holder.end()
    await eventually(async () => !(await waiting(database)))
    expect(await versionOf(database)).toBe(9)
    const { code, stderr } = await home.run(['init'])
    expect(code, stderr).toBe(0)
    expect(await versionOf(database)).toBe(NEWEST)
    expect(readdirSync(join(home.dataDir, 'backups')).sort()).toEqual([
      'before-upgrade.zst',
      'before-upgrade.zst.files',
    ])
  })
})

describe('a program that is older than the schema', () => {
  it('says so, whatever it was asked for, and changes neither a row nor a file', async () => {
    const { home, database } = await kept('0042')
    expect((await home.run(['init'])).code).toBe(0)
    await database.query("insert into schema_migration (version, name) values (9999, 'of tomorrow')")
    // Each row with the transaction that wrote it.
    const rows = () =>
      Promise.all(
        [...LARGE, 'machine', 'row_change', 'schema_migration'].map((table) =>
          database.value(`select string_agg(xmin || t::text, ' ' order by t::text) from ${table} t`),
        ),
      )
    const files = () => readdirSync(home.dataDir, { recursive: true }).sort()
    const before = [await rows(), files()]
    for (const args of [
      ['init'],
      ['add', 'http://127.0.0.1:9/'],
      ['run', '--exit-on-idle'],
      ['status'],
      ['db', 'migrate'],
    ]) {
      const { code, stderr } = await home.run(args)
      expect(code, stderr).toBe(1)
      expect(stderr).toMatch(/^error: the database has schema version 9999, this program knows \d+\nhint: /m)
    }
    expect([await rows(), files()]).toEqual(before)
  })
})
