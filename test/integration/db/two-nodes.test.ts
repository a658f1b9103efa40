import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { loseSilentNodes } from '../../../src/db/nodes.ts'
import { expectComplete, pagesOf, resultsOf } from '../../support/archive.ts'
import type { TestHome } from '../../support/homes.ts'
import { sealedCrawl } from '../../support/observer.ts'
import { hook } from '../../support/plugins.ts'
import { eventually } from '../../support/program.ts'
import { useSharedServer } from '../../support/shared-database.ts'
import { type Site, startSite } from '../../support/site.ts'

const server = useSharedServer()
let site: Site

beforeAll(async () => {
  site = await startSite(3)
})
afterAll(() => site.close())

const nodeOf = (home: TestHome) => home.value<string>('select id from node where data_dir = $1', [home.dataDir])

describe('a page', () => {
  it('is worked on again where its files are, whichever node wants it', async () => {
    const [one, two] = await server.twoNodes()
    const first = one.start(['run'])
    const crawl = await one.add('--plugins', 'html,title', `${site.url}/page-1.html`)
    await sealedCrawl(one, crawl)
    const second = two.start(['run'])
    await second.says(/leading \(term 1\)/)
    const node = await nodeOf(one)
    expect((await two.run(['crawl', 'retry', crawl])).code).toBe(0)
    await sealedCrawl(two, crawl)
    expect((await pagesOf(one, crawl)).map(({ home_node }) => home_node)).toEqual([node])
    for (const { node_id, output_files } of await resultsOf(one, crawl))
      expect([node, null]).toContain(Object.keys(output_files).length > 0 ? node_id : null)
    await expectComplete(one, crawl)
    for (const runner of [first, second]) {
      runner.signal('SIGTERM')
      expect((await runner.finished()).code).toBe(0)
    }
  })

  it('of a lost node is archived by another, all of it, and the older folder is to be removed', async () => {
    const [one, two] = await server.twoNodes()
    const hold = join(one.dataDir, 'hold')
    for (const home of [one, two])
      hook(home, 'waits', '41_waits.sh', `while [[ -e ${hold} ]]; do sleep 0.05; done; echo waited >waited.txt`)
    writeFileSync(hold, '')
    const crawl = await one.add('--plugins', 'html,waits', `${site.url}/page-1.html`)
    const first = one.start(['run'])
    await eventually(() => one.value("select count(*) = 1 from archive_result where status = 'succeeded'"))
    const page = (await pagesOf(one, crawl))[0]!
    first.signal('SIGKILL')
    await first.finished()
    // A report from before the clock was set back grows old from now on.
    await two.query("update node set heartbeat_at = now() + interval '8 h'")
    const db = openDatabase(two.databaseUrl, { name: 'test', connections: 1 })
    expect(await loseSilentNodes({ db, dataDirId: uuidv7() }, 60)).toEqual([])
    await db.destroy()
    expect(await two.value('select heartbeat_at <= now() from node')).toBe(true)
    // What its lease and the wait of the other node take.
    await two.query("update node set heartbeat_at = now() - interval '1 hour'")
    for (const table of ['crawl', 'snapshot']) await two.query(`update ${table} set retry_at = now()`)
    rmSync(hold)
    const second = two.start(['run'])
    await sealedCrawl(two, crawl)
    const [lost, node] = [await nodeOf(one), await nodeOf(two)]
    expect(await two.value('select state from node where id = $1', [lost])).toBe('lost')
    const results = await resultsOf(two, crawl)
    expect(results.map(({ plugin, status, node_id }) => [plugin, status, node_id])).toEqual([
      ['html', 'succeeded', node],
      ['waits', 'succeeded', node],
    ])
    await expectComplete(two, crawl)
    expect(await two.query('select node_id, what, ids from file_job')).toEqual([
      { node_id: lost, what: 'page', ids: [page.id] },
    ])
    expect(existsSync(join(one.dataDir, page.output_dir, 'html'))).toBe(true)
    second.signal('SIGTERM')
    expect((await second.finished()).code).toBe(0)
  })

  it('that ends its workers on one node is archived by the other, all of it, after three attempts', async () => {
    const [one, two] = await server.twoNodes()
    const script = (home: TestHome, deed: string) => hook(home, 'fickle', '41_fickle.sh', deed)
    script(one, `echo x >>${join(one.dataDir, 'tries')}; kill -9 $PPID; sleep 1000`)
    script(two, 'echo well >well.txt')
    const first = one.start(['run'])
    await first.says(/leading \(term 1\)/)
    const crawl = await one.add('--plugins', 'html,fickle', `${site.url}/page-1.html`)
    await eventually(() => one.value<boolean>('select home_node is not null from snapshot'))
    const second = two.start(['run'])
    await sealedCrawl(two, crawl)
    const [bad, good] = [await nodeOf(one), await nodeOf(two)]
    expect(readFileSync(join(one.dataDir, 'tries'), 'utf8').trim().split('\n')).toHaveLength(3)
    const results = await resultsOf(two, crawl)
    expect(results.map(({ plugin, status, node_id }) => [plugin, status, node_id])).toEqual([
      ['html', 'succeeded', good],
      ['fickle', 'succeeded', good],
    ])
    await expectComplete(two, crawl)
    await eventually(async () => (await two.query('select from file_job')).length === 0)
    expect(await two.value('select state from node where id = $1', [bad])).toBe('active')
    expect(existsSync(join(one.dataDir, (await pagesOf(one, crawl))[0]!.output_dir, 'html'))).toBe(false)
    for (const runner of [first, second]) {
      runner.signal('SIGTERM')
      expect((await runner.finished()).code).toBe(0)
    }
  })
})

it("a crawl that a live node was to go on with, and does not, is anybody's after a while", async () => {
  const [one, two] = await server.twoNodes()
  expect((await two.run(['run', '--exit-on-idle'])).code).toBe(0)
  const crawl = await one.add('--plugins', 'html', `${site.url}/page-1.html`)
  const other = await nodeOf(two)
  const due = (ago: string) =>
    one.query('update crawl set home_node = $1, retry_at = now() - $2::interval', [other, ago])
  await due('14 minutes')
  expect((await one.run(['run', '--exit-on-idle'])).code).toBe(0)
  expect(await one.value('select status from crawl')).toBe('queued')
  await due('16 minutes')
  expect((await one.run(['run', '--exit-on-idle'])).code).toBe(0)
  await expectComplete(one, crawl)
  expect(await one.value('select home_node from snapshot')).toBe(await nodeOf(one))
})

it('nodes that report for the first time in one moment take different names', async () => {
  const [home] = await server.twoNodes()
  const other = new pg.Client({ connectionString: home.databaseUrl })
  await other.connect()
  await other.query('begin')
  await other.query("insert into node (id, data_dir, name) values (uuidv7(), '/elsewhere', $1)", [hostname()])
  const runner = home.start(['run', '--exit-on-idle'])
  await eventually(() => home.value("select true from pg_stat_activity where wait_event_type = 'Lock'"))
  await other.query('commit')
  await other.end()
  const { code, stderr } = await runner.finished()
  expect(code, stderr).toBe(0)
  expect(await home.value('select name from node where data_dir = $1', [home.dataDir])).toBe(
    `${hostname()}:${basename(home.dataDir)}`,
  )
})
