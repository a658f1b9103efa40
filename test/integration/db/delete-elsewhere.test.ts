import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { outputDir } from '../../../src/db/crawls.ts'
import { pagesOf, resultsOf } from '../../support/archive.ts'
import { newFolder, type TestHome } from '../../support/homes.ts'
import { noTerminal, onTerminal } from '../../support/on-terminal.ts'
import { holdingPlugin } from '../../support/plugins.ts'
import { eventually, type Running } from '../../support/program.ts'
import { useSharedServer } from '../../support/shared-database.ts'
import { type Site, startSite } from '../../support/site.ts'

const server = useSharedServer()
let site: Site

beforeAll(async () => {
  site = await startSite(3)
})
afterAll(() => site.close())

/** A node that has archived a crawl, and another one on the same database. */
async function archivedOnOne(...plugins: string[]) {
  const url = await server.emptyDatabase()
  const [one, two] = [server.newHome(url), server.newHome(url)]
  for (const home of [one, two]) expect((await home.run(['init'])).code).toBe(0)
  const crawl = await one.add('--plugins', plugins.join(','), `${site.url}/page-1.html`, `${site.url}/page-2.html`)
  expect((await one.run(['run', '--exit-on-idle'])).code).toBe(0)
  const [page, other] = await pagesOf(one, crawl)
  const dir = await one.value<string>('select output_dir from crawl where id = $1', [crawl])
  return { one, two, crawl, dir, page: page!, other: other!, name: await nameOf(one) }
}

const nameOf = (home: TestHome) => home.value<string>('select name from node where data_dir = $1', [home.dataDir])
const jobs = (home: TestHome) => home.query('select what, ids, why from file_job order by id')
const noJobs = (home: TestHome) => eventually(() => home.value('select count(*) = 0 from file_job'))
const isIn = (home: TestHome, ...path: string[]) => existsSync(join(home.dataDir, ...path))
/** Asks a node as another one does. */
const ask = (home: TestHome, what: string, id: string, detail: string | null = null) =>
  home.query(
    'insert into file_job (node_id, what, ids, detail) ' +
      'select id, $1, array[$2::uuid], $3 from node where data_dir = $4',
    [what, id, detail, home.dataDir],
  )
/** Whatever there is of pages and crawls on the disk of a node. */
const filesOf = (home: TestHome) =>
  ['snapshots', 'crawls'].flatMap((kind) =>
    isIn(home, 'archive', kind)
      ? readdirSync(join(home.dataDir, 'archive', kind), { recursive: true }).map(String)
      : [],
  )

async function exit(runner: Running): Promise<void> {
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
}

async function deleted(home: TestHome, ...args: string[]): Promise<string> {
  const { code, stderr } = await home.run([...args, '--yes'])
  expect(code, stderr).toBe(0)
  return stderr
}

describe('deleting on a node that does not have the files', () => {
  it('removes them where they are while that runs', async () => {
    const { one, two, crawl, dir, page, other, name } = await archivedOnOne('html')
    mkdirSync(join(one.dataDir, dir, 'wacz'))
    writeFileSync(join(one.dataDir, dir, 'wacz/crawl.wacz'), 'both pages')
    const runner = one.start(['run'])
    await runner.says(/leading/)
    expect(await deleted(two, 'snapshot', 'delete', page.id)).toMatch(
      new RegExp(`^deleted 1 snapshot with .*; its files on node ${name} go when that runs$`, 'm'),
    )
    expect(await pagesOf(two, crawl)).toHaveLength(1)
    await noJobs(one)
    expect(isIn(one, page.output_dir)).toBe(false)
    expect(isIn(one, dir, 'wacz/crawl.wacz'), 'it has the page').toBe(false)
    expect(isIn(one, other.output_dir, 'html')).toBe(true)
    expect(await deleted(two, 'crawl', 'delete', crawl)).toContain('its files on node')
    await noJobs(one)
    expect(filesOf(one)).toEqual([])
    expect(filesOf(two)).toEqual([])
    await exit(runner)
  })

  it('removes them when that runs again, and status tells what waits', async () => {
    const { one, two, crawl, page, name } = await archivedOnOne('html')
    await deleted(two, 'crawl', 'delete', crawl)
    expect(isIn(one, page.output_dir)).toBe(true)
    const { stdout } = await two.run(['status', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ files_to_remove: [{ node: name, rows: 3, why: null }] })
    if (!noTerminal) expect(await onTerminal(two, ['status'])).toContain(`files of 3 rows on node ${name}`)
    const runner = one.start(['run'])
    await noJobs(one)
    expect(filesOf(one)).toEqual([])
    expect(JSON.parse((await two.run(['status', '--json'])).stdout)).toMatchObject({ files_to_remove: [] })
    await exit(runner)
  })

  it('survives a kill between the files and the job', async () => {
    const { one, two, crawl } = await archivedOnOne('html')
    await deleted(two, 'crawl', 'delete', crawl)
    const killed = one.start(['run'], { env: { ARCHIVEBOX_FAILPOINTS: 'reap.files_removed=kill9' } })
    await killed.finished()
    expect(await jobs(one)).toHaveLength(2)
    const runner = one.start(['run'])
    await noJobs(one)
    expect(filesOf(one)).toEqual([])
    expect(isIn(one, 'archive/.deleted')).toBe(false)
    await exit(runner)
  })

  it('of a result leaves the others of its page, and their files', async () => {
    const { one, two, crawl, page, name } = await archivedOnOne('html', 'title', 'headers')
    const results = async () => (await resultsOf(one, crawl)).filter((row) => row.snapshot_id === page.id)
    const verdict = 'select outcome, cause, http_status from snapshot where id = $1'
    const before = await one.query(verdict, [page.id])
    expect(before).toMatchObject([{ http_status: 200 }])
    const title = (await results()).find(({ plugin }) => plugin === 'title')!
    const [file] = Object.keys(title.output_files)
    const log = `.logs/title.${title.hook_name}.${title.attempt}.stderr.log`
    writeFileSync(join(one.dataDir, page.output_dir, log), 'said')
    expect(isIn(one, page.output_dir, 'title', file!)).toBe(true)
    expect(await deleted(two, 'result', 'delete', String(title['id']))).toContain(
      `; its files on node ${name} go when that runs`,
    )
    expect(filesOf(two), 'no index of a page that is elsewhere').toEqual([])
    const runner = one.start(['run'])
    await noJobs(one)
    expect(isIn(one, page.output_dir, 'title', file!)).toBe(false)
    expect(isIn(one, page.output_dir, log)).toBe(false)
    for (const { plugin, output_files } of await results())
      for (const path of Object.keys(output_files)) expect(isIn(one, page.output_dir, plugin, path)).toBe(true)
    expect(await one.query(verdict, [page.id]), 'what its headers said still counts').toEqual(before)
    await exit(runner)
  })

  it('waits for whoever still works on the page', async () => {
    const url = await server.emptyDatabase()
    const [one, two] = [server.newHome(url), server.newHome(url)]
    for (const home of [one, two]) expect((await home.run(['init'])).code).toBe(0)
    holdingPlugin(one, 'holds')
    holdingPlugin(two, 'holds')
    const crawl = await one.add('--plugins', 'html,holds', `${site.url}/page-1.html`)
    const runner = one.start(['run'])
    await eventually(() =>
      one.value("select count(*) = 1 from archive_result where status = 'started' and plugin = 'holds'"),
    )
    const [page] = await pagesOf(one, crawl)
    const worker = Number(
      await one.value("select pid from process where worker_type = 'snapshot' and status = 'running'"),
    )
    process.kill(worker, 'SIGSTOP')
    expect(await deleted(two, 'crawl', 'delete', crawl)).toContain('; its files on node')
    expect(await one.value('select count(*) from snapshot')).toBe('0')
    await eventually(() => one.value("select count(*) = 1 from file_job where why like '%is still being worked on'"))
    process.kill(worker, 'SIGCONT')
    await noJobs(one)
    expect(isIn(one, page!.output_dir)).toBe(false)
    await exit(runner)
  })
})

describe('a job', () => {
  it('of an unknown id ends', async () => {
    const { one } = await archivedOnOne('html')
    const before = filesOf(one)
    for (const what of ['page', 'crawl', 'result'])
      await ask(one, what, uuidv7(), '{"plugin":"../..","hook":"x","attempt":1}')
    const runner = one.start(['run'])
    await noJobs(one)
    expect(filesOf(one)).toEqual(before)
    await exit(runner)
  })

  it('of a page that is ours again ends, and leaves it', async () => {
    const { one, page } = await archivedOnOne('html')
    const before = filesOf(one)
    await ask(one, 'page', page.id)
    const runner = one.start(['run'])
    await noJobs(one)
    expect(filesOf(one)).toEqual(before)
    await exit(runner)
  })

  it('of a page that moved removes it once it is archived there', async () => {
    const { one, two, page } = await archivedOnOne('html')
    const node = await two.value('select data_dir_id from process where data_dir = $1', [two.dataDir])
    const move = 'update snapshot set home_node = $1, outcome = $2, cause = $3 where id = $4'
    await two.query(move, [node, 'failed', 'why', page.id])
    await two.query('update archive_result set node_id = $1 where snapshot_id = $2', [node, page.id])
    await ask(one, 'page', page.id)
    const runner = one.start(['run'])
    await eventually(() =>
      one.value("select count(*) = 1 from file_job where why like '%is not archived on another node yet'"),
    )
    expect(isIn(one, page.output_dir, 'html')).toBe(true)
    await two.query(move, [node, 'archived', null, page.id])
    await noJobs(one)
    expect(isIn(one, page.output_dir)).toBe(false)
    await exit(runner)
  })

  it('follows no link', async () => {
    const { one, two, crawl, page } = await archivedOnOne('html')
    const outside = newFolder()
    const host = dirname(join(one.dataDir, page.output_dir))
    renameSync(host, join(outside, 'host'))
    symlinkSync(join(outside, 'host'), host)
    await deleted(two, 'crawl', 'delete', crawl)
    const runner = one.start(['run'])
    await eventually(() => one.value("select count(*) = 1 from file_job where why like '%is a symbolic link%'"))
    expect(readdirSync(join(outside, 'host'))).toContain(page.id)
    // A link in the place of the page itself is what goes.
    rmSync(host)
    mkdirSync(host)
    symlinkSync(join(outside, 'host', page.id), join(one.dataDir, page.output_dir))
    await noJobs(one)
    expect(existsSync(host)).toBe(false)
    expect(existsSync(join(outside, 'host', page.id, 'html'))).toBe(true)
    rmSync(outside, { recursive: true })
    await exit(runner)
  })
})

it('a folder that was named after midnight is found by the id from before', async () => {
  const { one } = await archivedOnOne('html')
  const late = Date.UTC(2026, 0, 1, 23, 59, 59)
  const id = uuidv7(late)
  const folder = outputDir('snapshots', 'https://example.com/', id, new Date(late + 2_000))
  mkdirSync(join(one.dataDir, folder), { recursive: true })
  await ask(one, 'page', id)
  const runner = one.start(['run'])
  await noJobs(one)
  expect(isIn(one, folder)).toBe(false)
  await exit(runner)
})
