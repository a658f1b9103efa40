import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serverAccount } from '../../../src/db/embedded/account.ts'
import { findBinaries } from '../../../src/db/embedded/binaries.ts'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { newFolder, TestHome } from '../../support/homes.ts'
import { expectOneAtATime, openRows, sealedPages } from '../../support/observer.ts'
import { perTest } from '../../support/per-test.ts'
import { killAll, processesOf } from '../../support/processes.ts'
import { eventually, program, type Running } from '../../support/program.ts'
import { brokenPromises } from '../../support/promises.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const PAGES = 12
let site: Site
beforeAll(async () => {
  site = await startSite(pages(PAGES))
})
afterAll(() => site.close())

/** A server of its own for each test, as somebody else's: nobody starts it again. */
class Outside {
  readonly serverDir = newFolder()
  /** Undefined until it is started. */
  home: TestHome | undefined
  mounted = false

  server(...args: string[]) {
    return program(args, { env: { DATA_DIR: this.serverDir } })
  }

  async end(): Promise<void> {
    if (this.home) {
      await this.home.close()
      killAll(processesOf(this.home.dataDir))
      rmSync(this.home.dataDir, { recursive: true, force: true })
    }
    await this.server('db', 'stop', '--force')
    killAll(processesOf(this.serverDir))
    if (this.mounted) spawnSync('umount', ['-l', this.serverDir])
    rmSync(this.serverDir, { recursive: true, force: true })
  }
}
const outside = perTest(
  () => new Outside(),
  (own) => own.end(),
)
const server = (...args: string[]) => outside().server(...args)

async function start(): Promise<TestHome> {
  const own = outside()
  for (const args of [['init'], ['db', 'start']]) {
    const { code, stderr } = await server(...args)
    expect(code, stderr).toBe(0)
  }
  const home = new TestHome(newFolder(), (await server('db', 'url')).stdout.trim(), { MAX_SNAPSHOT_WORKERS: '2' })
  own.home = home
  expect((await home.run(['init'])).code).toBe(0)
  home.install('oracle')
  return home
}

interface Scene {
  readonly home: TestHome
  readonly crawl: string
  readonly runner: Running
}

async function crawling(home: TestHome): Promise<Scene> {
  const crawl = await home.add(
    '--depth',
    '1',
    '--plugins',
    'html,title,parse_html_urls,hashes,oracle',
    '-c',
    'ORACLE_SECONDS=0.3',
    `${site.url}/`,
  )
  const runner = home.start(['run', '--exit-on-idle'])
  await sealedPages(home, 1)
  return { home, crawl, runner }
}

async function expectAllThere({ home, crawl, runner }: Scene): Promise<void> {
  const { code, stderr } = await runner.finished()
  expect(code, stderr).toBe(0)
  expect(await expectComplete(home, crawl)).toHaveLength(PAGES + 1)
  expect((await resultsOf(home, crawl)).filter(({ status }) => status !== 'succeeded')).toEqual([])
  expect(await openRows(home)).toEqual([])
  expect(await brokenPromises(home)).toEqual([])
  expectOneAtATime(home)
}

describe.concurrent('a database', () => {
  it('that becomes read-only is waited for like one that is away', async () => {
    const home = await start()
    const scene = await crawling(home)
    await home.query('alter system set default_transaction_read_only = on')
    await home.query('select pg_reload_conf()')
    await scene.runner.says(/the database is away, waiting for it: cannot execute \w+ in a read-only transaction/)
    const added = await home.run(['add', '--again', site.url])
    expect(added.code).not.toBe(0)
    expect(added.stderr).toMatch(/read-only/)
    await home.query('alter system reset default_transaction_read_only')
    await home.query('select pg_reload_conf()')
    await expectAllThere(scene)
  })

  it('without a free connection is waited for, and work goes on when there is one again', async () => {
    const home = await start()
    await home.query('alter system set max_connections = 14')
    await home.close()
    expect((await server('db', 'stop', '--force')).code).toBe(0)
    expect((await server('db', 'start')).code).toBe(0)
    const hogs: pg.Client[] = []
    const crawl = await home.add(
      '--depth',
      '1',
      '--plugins',
      'html,title,parse_html_urls,hashes,oracle',
      `${site.url}/`,
    )
    // Until all are theirs: those of commands that have ended take a moment to go.
    await eventually(async () => {
      const hog = new pg.Client({ connectionString: home.databaseUrl })
      hog.on('error', () => {})
      try {
        await hog.connect()
        hogs.push(hog)
        return false
      } catch {
        const there = "select count(*)::int from pg_stat_activity where backend_type = 'client backend'"
        return (await hogs[0]!.query<{ count: number }>(there)).rows[0]!.count === hogs.length
      }
    })
    const refused = await home.run(['status'])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/no free connection/)
    for (const hog of hogs.splice(0, 5)) await hog.end()
    const runner = home.start(['run', '--exit-on-idle'])
    // The leader got in; its workers do not.
    await runner.says(/leading/)
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    for (const hog of hogs.splice(0)) await hog.end()
    await expectAllThere({ home, crawl, runner })
  })

  it('that is not there any more, or lets nobody in, is no outage: the runner says so and ends with 1', async () => {
    const home = await start()
    const runner = home.start(['run'])
    await runner.says(/leading/)
    await home.close()
    const admin = new pg.Client({ connectionString: home.databaseUrl.replace('/archivebox?', '/template1?') })
    await admin.connect()
    await admin.query('drop database archivebox with (force)')
    await admin.end()
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(
      /^error: database "archivebox" does not exist \(postgres:.*\)\nhint: +create it with: createdb NAME/m,
    )
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  it('that fails over to a standby is another server: the runner passes the gate again', async () => {
    const home = await start()
    const runner = home.start(['run'])
    await runner.says(/leading \(term 1\)/)
    const asked = "select true from pg_stat_activity where pid <> pg_backend_pid() and query ~ 'pg_control_system'"
    await eventually(() => home.value(`${asked} and state = 'idle'`)) // It knows which server this is.
    const pgdata = join(outside().serverDir, 'postgres')
    const { uid, gid } = statSync(pgdata)
    const account = serverAccount({ uid, gid })
    const pgCtl = (...args: string[]) =>
      execFileSync(findBinaries(account).pgCtl, [...args, '-s', '-w', '-D', pgdata], {
        cwd: '/',
        stdio: 'ignore',
        ...(account ? { uid, gid } : {}),
      })
    pgCtl('stop', '-m', 'fast')
    writeFileSync(join(pgdata, 'standby.signal'), '')
    chownSync(join(pgdata, 'standby.signal'), uid, gid)
    pgCtl('start', '-l', join(pgdata, 'standby.log'))
    await runner.says(/the database is away/)
    pgCtl('promote')
    await runner.says(/cannot know that it leads \(the database is another server than before: a failover\)/)
    await runner.says(/leading \(term 2\)/)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
  })

  it('whose own disk is full is waited for, and loses nothing', async ({ skip }) => {
    const own = outside()
    const { serverDir } = own
    const disk = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=140m,mode=755', 'tmpfs', serverDir])
    if (disk.status !== 0) skip('may not mount a small disk here')
    own.mounted = true
    const home = await start()
    const scene = await crawling(home)
    const sealed = await home.query<{ id: string }>("select id from snapshot where status = 'sealed'")
    const filler = join(serverDir, 'filler')
    spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k'])
    // Pages of the database fill up what there is; then its log cannot grow.
    await home
      .query("create table ballast as select repeat('x', 2000) as text from generate_series(1, 100000)")
      .catch(() => {})
    await scene.runner.says(/the database (is away|cannot do its work), waiting for it: .*(No space|not extend)/i)
    rmSync(filler)
    await home.query('drop table if exists ballast').catch(() => {})
    if ((await server('db', 'status')).stdout.includes('"running":false'))
      expect((await server('db', 'start')).code).toBe(0)
    await expectAllThere(scene)
    expect(
      await home.value('select count(*)::int from snapshot where id = any($1)', [sealed.map(({ id }) => id)]),
    ).toBe(sealed.length)
  })
})
