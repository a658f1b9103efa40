// A data dir that an older program left behind, in the middle of its work, is opened, brought up to date and finished.
import { cpSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { migrations } from '../../../src/db/migrate.ts'
import { expectComplete, pagesOf } from '../../support/archive.ts'
import { useDatabases } from '../../support/engine.ts'
import { newFolder, TestHome, useHomes } from '../../support/homes.ts'
import { schemaOf } from '../../support/kept-data-dirs.ts'
import { killAll, processesOf } from '../../support/processes.ts'
import { ROOT } from '../../support/program.ts'
import { brokenPromises } from '../../support/promises.ts'
import { type Site, startSite } from '../../support/site.ts'

const FIXTURE = join(ROOT, 'test', 'fixtures', 'data-dir-0008')
/** The id of the data dir in the fixture's rows. */
const ID = '01a20098-36dc-7295-a68a-1dbee99dcee7'
const homes = useHomes()
const databases = useDatabases()
let site: Site
let home: TestHome

beforeAll(async () => {
  const titled = (title: string) => `<title>${title}</title>${title}`
  site = await startSite({ '/two': titled('Two'), '/three': titled('Three') })
})
beforeEach(async () => {
  const dataDir = newFolder()
  cpSync(join(FIXTURE, 'files'), dataDir, { recursive: true })
  const id = join(dataDir, '.archivebox-id')
  writeFileSync(id, '')
  writeFileSync(id, `${ID} ${statSync(id).ino}\n`)
  const { machine, host } = (
    await (
      await homes.make()
    ).query<{ machine: string; host: string }>('select guid as machine, hostname as host from machine')
  )[0]!
  const values: Readonly<Record<string, string>> = { 'data dir': dataDir, machine, host, site: site.url }
  const rows = readFileSync(join(FIXTURE, 'rows.sql'), 'utf8')
    .replaceAll(/\{(data dir|machine|host|site)\}/g, (_, name: string) => values[name]!)
    .replaceAll(/'2026-11-22 ([\d:.]+)\+00'/g, "now() - interval '1 h' + interval '$1'")
  const old = await databases.make(
    ...schemaOf(migrations().flatMap(({ version }) => (version > 8 ? [] : [version]))),
    `set session_replication_role = replica; ${rows}`, // A fence lets only a leader insert processes of its own.
    "update snapshot set url_hash = sha256(convert_to(url, 'UTF8'))",
  )
  home = new TestHome(dataDir, old.url, {})
  home.install('slow')
})
afterEach(async () => {
  await home.close()
  const left = processesOf(home.dataDir)
  killAll(left)
  rmSync(home.dataDir, { recursive: true, force: true })
  expect(left).toEqual([])
})
afterAll(() => site.close())

const crawlOf = (label: string) => home.value<string>('select id from crawl where label = $1', [label])
const results = (where: string) =>
  home.query(`select r.* from archive_result r join snapshot s on s.id = r.snapshot_id where ${where} order by r.id`)

it('of schema version 8 opens: its rows are brought up to date, its lists show what they showed', async () => {
  const { code, stderr } = await home.run(['init'])
  expect(code, stderr).toBe(0)
  expect(stderr).toContain('database schema: applied reasons')
  expect(await home.value('select max(version) from schema_migration')).toBe(migrations().at(-1)!.version)
  const list = async (...args: string[]) =>
    (await home.run(args)).stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as object]))
  expect(await list('crawl', 'list')).toMatchObject([
    { label: 'waiting', status: 'queued' },
    { label: 'unfinished', status: 'started' },
    { label: 'sealed', status: 'sealed', tags: ['first'] },
  ])
  expect(await list('snapshot', 'list', '--status', 'sealed')).toHaveLength(3)
  expect(await list('result', 'list', '--status', 'started')).toHaveLength(2)
})

it('of schema version 8 is finished: dead workers lose their claims, nothing that was done is done again', async () => {
  const done = "s.status = 'sealed'"
  const kept = await results(done)
  expect(kept).toHaveLength(13)
  const { code, stderr } = await home.run(['run', '--exit-on-idle'])
  expect(code, stderr).toBe(0)
  for (const [label, pages] of Object.entries({ sealed: 1, unfinished: 4, waiting: 1 })) {
    const id = await crawlOf(label)
    expect(await home.value('select status from crawl where id = $1', [id]), label).toBe('sealed')
    expect(await pagesOf(home, id), label).toHaveLength(pages)
  }
  expect(await results("r.status <> 'succeeded' and r.plugin <> 'parse_html_urls'")).toEqual([])
  await expectComplete(home, await crawlOf('waiting'))
  const ids = kept.map(({ id }) => id)
  const now = await results(`r.id = any('{${ids.join(',')}}'::uuid[])`)
  expect(now.map(({ id, process_id, end_ts }) => ({ id, process_id, end_ts }))).toEqual(
    kept.map(({ id, process_id, end_ts }) => ({ id, process_id, end_ts })),
  )
  expect([site.hits('/'), site.hits('/one')]).toEqual([0, 0])
  expect(await home.query("select cmd from process where status not in ('exited', 'lost')")).toEqual([])
  const dead = await home.query(
    "select distinct status, exit_code from process where boot_id like '3f0c6f0e%' and seq > 8",
  )
  expect(dead).toContainEqual({ status: 'lost', exit_code: null })
  const [cutOff] = await home.query<{ output_dir: string }>("select output_dir from snapshot where url like '%/three'")
  const page = readFileSync(join(home.dataDir, cutOff!.output_dir, 'index.html'), 'utf8')
  expect(page).toContain('.logs/html/on_Snapshot__20_html.js.1.stdout.log')
  expect(page).toContain('.logs/slow.on_Snapshot__41_slow.sh.1.stdout.log')
  expect(await brokenPromises(home)).toEqual([])
})
