import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HOSTED_LOG } from '../../../src/base/attempt-paths.ts'
import { readRowLog } from '../../../src/base/row-log.ts'
import { expectComplete, pagesOf } from '../../support/archive.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { sealedCrawl } from '../../support/observer.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually } from '../../support/program.ts'
import { runAll } from '../../support/queued.ts'
import { records, refusal } from '../../support/records.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(4)
})
afterAll(() => site.close())

const urls = (count: number) => Array.from({ length: count }, (_, index) => `${site.url}/page-${index + 1}.html`)

/** A sealed crawl of some pages. */
async function archived(home: TestHome, count: number, plugins = 'html,title'): Promise<string> {
  const crawl = await home.add('--plugins', plugins, ...urls(count))
  await runAll(home)
  return crawl
}

const counts = async (home: TestHome) =>
  (
    await home.query(`
      select (select count(*)::int from crawl) as crawls, (select count(*)::int from snapshot) as snapshots,
             (select count(*)::int from archive_result) as results`)
  )[0]

/** Makes the server end what is idle within a transaction for long: here after 2 s, on the embedded one after 10. */
const endIdleTransactions = async (home: TestHome) =>
  await home.query(
    `do $$ begin
       execute format('alter database %I set idle_in_transaction_session_timeout = 2000', current_database());
     end $$`,
  )

/** The folders of crawls and pages that are there, by the last part of their paths. */
const folders = (home: TestHome) =>
  ['crawls', 'snapshots'].flatMap((kind) => {
    const top = join(home.dataDir, 'archive', kind)
    if (!existsSync(top)) return []
    return readdirSync(top).flatMap((day) =>
      readdirSync(join(top, day)).flatMap((domain) => readdirSync(join(top, day, domain))),
    )
  })

describe.concurrent('crawl delete', () => {
  it('deletes a crawl with its snapshots, results, history and files, and nothing else', async () => {
    const home = await homes.make()
    const kept = await archived(home, 1)
    const crawl = await archived(home, 2)
    const [deleted] = await records(home, ['crawl', 'delete', '--yes', crawl])
    expect(deleted).toMatchObject({ type: 'Crawl', id: crawl, status: 'sealed' })
    expect(await counts(home)).toEqual({ crawls: 1, snapshots: 1, results: 2 })
    const [page] = await expectComplete(home, kept)
    expect(folders(home).sort()).toEqual([kept, page!.id].sort())
    expect(await home.value('select count(distinct row_id) from transition')).toBe('4')
    expect(existsSync(join(home.dataDir, 'archive/.deleted'))).toBe(false)
    expect(readFileSync(join(home.dataDir, 'index.html'), 'utf8')).toContain('1 page · 1 crawl')
  })

  it('deletes nothing without --yes, and says what it would delete; with --dry-run that is all that is wanted', async () => {
    const home = await homes.make()
    const crawl = await archived(home, 2)
    const before = folders(home)
    await refusal(
      home,
      ['crawl', 'delete', crawl],
      1,
      /nothing was deleted: this would delete 1 crawl with 2 snapshots and 4 results \(\d/,
    )
    const { code, stdout, stderr } = await home.run(['crawl', 'delete', '--dry-run', '--yes', crawl])
    expect({ code, id: (JSON.parse(stdout) as { id: string }).id }).toEqual({ code: 0, id: crawl })
    expect(stderr).toMatch(
      /^dry run: would delete 1 crawl with 2 snapshots and 4 results \(.*\); nothing was deleted\n$/,
    )
    expect(await counts(home)).toEqual({ crawls: 1, snapshots: 2, results: 4 })
    expect(folders(home)).toEqual(before)
    await refusal(
      home,
      ['crawl', 'delete', '--yes', crawl, '01994f6e-0c1a-7c3e-9d55-0123456789ab'],
      2,
      /there is no crawl/,
    )
    expect(folders(home)).toEqual(before)
  })

  it('takes a crawl from its workers first, and waits until their hooks have ended', async () => {
    const home = await homes.make()
    home.install('oracle')
    const runner = home.start(['run'])
    const crawl = await home.add('--plugins', 'html,oracle', '-c', 'ORACLE_SECONDS=1000', ...urls(3))
    const oracles = () => processesOf(home.dataDir).filter(({ command }) => command.includes('oracle')).length
    await eventually(() => oracles() > 0)
    await records(home, ['crawl', 'delete', '--yes', crawl])
    expect(oracles()).toBe(0)
    expect(await counts(home)).toEqual({ crawls: 0, snapshots: 0, results: 0 })
    const next = await home.add('--plugins', 'html', ...urls(1))
    await sealedCrawl(home, next)
    const [page] = await expectComplete(home, next)
    // Nothing of the deleted one was written after it.
    await eventually(() => folders(home).length === 2)
    expect(folders(home).sort()).toEqual([next, page!.id].sort())
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
  })

  it('deletes a crawl in whatever state it and its pages are', async () => {
    const home = await homes.make()
    const [page] = await records(home, ['snapshot', 'create', ...urls(2)])
    const crawl = String(page!['crawl_id'])
    await records(home, ['crawl', 'pause', crawl])
    await records(home, ['snapshot', 'resume', page!.id])
    const untouched = await home.add(...urls(1))
    await records(home, ['crawl', 'delete', '--yes', crawl, untouched])
    expect(await counts(home)).toEqual({ crawls: 0, snapshots: 0, results: 0 })
  })

  it('leaves what somebody does not let go of, and says who', async () => {
    const home = await homes.make()
    home.install('oracle')
    const runner = home.start(['run'])
    const crawl = await home.add('--plugins', 'oracle', '-c', 'ORACLE_SECONDS=1000', ...urls(1))
    const workers = () => processesOf(home.dataDir).filter(({ command }) => / worker /.test(command))
    await eventually(() => existsSync(join(home.dataDir, 'oracle.log'))) // Its hook is at work.
    // The workers stand still: they neither see that they have lost the page, nor end their hook.
    for (const { pid } of [...workers(), { pid: runner.pid }]) process.kill(pid, 'SIGSTOP')
    const { code, stderr } = await home.run(['crawl', 'delete', '--yes', crawl])
    for (const { pid } of [...workers(), { pid: runner.pid }]) process.kill(pid, 'SIGCONT')
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(
      new RegExp(`^error: crawl ${crawl} is still being worked on \\(pid [\\d?, ]+\\): it is paused now\n`),
    )
    expect(await home.query('select status from crawl')).toEqual([{ status: 'paused' }])
    runner.signal('SIGTERM')
    await runner.finished()
  })

  it('goes through no symbolic link, and then deletes nothing of the crawl', async () => {
    const home = await homes.make()
    const crawl = await archived(home, 1)
    const [page] = await pagesOf(home, crawl)
    const domain = join(home.dataDir, dirname(page!.output_dir))
    renameSync(domain, join(home.dataDir, 'elsewhere'))
    symlinkSync(join(home.dataDir, 'elsewhere'), domain)
    const { code, stderr } = await home.run(['crawl', 'delete', '--yes', crawl])
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(/error: archive\/snapshots\/.* is a symbolic link: nothing behind it is deleted/)
    await expectComplete(home, crawl)
    expect(folders(home)).toContain(crawl)
    expect(existsSync(join(home.dataDir, 'archive/.deleted'))).toBe(false)
  })

  it('may take as long as it needs, where the server ends idle transactions', async () => {
    const home = await homes.make()
    const crawl = await archived(home, 1)
    await endIdleTransactions(home)
    const env = { ARCHIVEBOX_FAILPOINTS: 'delete.files_aside=sleep:3000' }
    const { code, stderr } = await home.run(['crawl', 'delete', '--yes', crawl], { env })
    expect(code, stderr).toBe(0)
    expect(stderr).not.toMatch(/database/)
    expect(folders(home)).toEqual([])
  })
})

describe.concurrent('snapshot delete', () => {
  it('deletes pages that a list names; their crawl stays, its page shows them no more, and a retry does not bring them back', async () => {
    const home = await homes.make()
    home.install('exit_1')
    const crawl = await archived(home, 2, 'html,exit_1')
    const [first, second] = await pagesOf(home, crawl)
    const list = (await home.run(['snapshot', 'list', '--url__icontains', first!.url])).stdout
    const folder = join(home.dataDir, await home.value<string>('select output_dir from crawl'))
    mkdirSync(join(folder, 'wacz'))
    writeFileSync(join(folder, 'wacz/crawl.wacz'), 'both pages')
    const [deleted] = await records(home, ['snapshot', 'delete', '--yes', '-'], list)
    expect(existsSync(join(folder, 'wacz'))).toBe(false)
    expect(deleted).toMatchObject({ type: 'Snapshot', id: first!.id })
    expect(await counts(home)).toEqual({ crawls: 1, snapshots: 1, results: 2 })
    expect(folders(home).sort()).toEqual([crawl, second!.id].sort())
    const listed = readFileSync(join(home.dataDir, 'archive/index/0.js'), 'utf8')
    expect(listed).toContain(second!.id)
    expect(listed).not.toContain(first!.id)
    await records(home, ['crawl', 'retry', '--failed', crawl])
    await runAll(home)
    expect((await pagesOf(home, crawl)).map(({ id }) => id)).toEqual([second!.id])
  })

  it('leaves nothing of a page whose worker was just about to begin with it', async () => {
    const home = await homes.make()
    home.install('slow')
    const crawl = await home.add('--plugins', 'slow', ...urls(1))
    const step = 'claim.results_prepared'
    const runner = home.start(['run'], { env: failpoints(home, `${step}=stop`) })
    const worker = await eventually(() => fired(home).get(step))
    const page = await home.value<string>('select snapshot_id from archive_result limit 1')
    await records(home, ['snapshot', 'delete', '--yes', page])
    expect(folders(home)).not.toContain(page)
    process.kill(worker, 'SIGCONT')
    await runner.says(/claim lost/)
    expect(folders(home)).toEqual([crawl])
    await sealedCrawl(home, crawl)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
  })

  it('lets a crawl come to its end whose last open page was deleted', async () => {
    const home = await homes.make()
    const [page] = await records(home, ['snapshot', 'create', ...urls(1)])
    await records(home, ['snapshot', 'pause', page!.id])
    await runAll(home)
    expect(await home.value('select status from crawl')).toBe('started')
    await records(home, ['snapshot', 'delete', '--yes', page!.id])
    await runAll(home)
    expect(await home.value('select status from crawl')).toBe('sealed')
  })
})

describe.concurrent('result delete', () => {
  it('deletes an attempt with its files, logs and line in the index; what others made stays', async () => {
    const home = await homes.make()
    home.install('exit_1', 'slow')
    const crawl = await archived(home, 1, 'exit_1,slow,headers,title')
    const [page] = await pagesOf(home, crawl)
    const dir = join(home.dataDir, page!.output_dir)
    const doomed = (await home.run(['result', 'list', '--plugin', 'slow,exit_1,headers'])).stdout
    expect(
      (await records(home, ['result', 'delete', '--yes', '-'], doomed)).map((result) => result['plugin']).sort(),
    ).toEqual(['exit_1', 'headers', 'slow'])
    expect(readdirSync(dir).sort()).toEqual(['.logs', 'index.html', 'index.jsonl', 'title'])
    expect(readdirSync(join(dir, '.logs'))).toEqual(['hosted.txt'])
    expect([...readRowLog(join(dir, HOSTED_LOG)).keys()].map((name) => name.split('.')[0])).toEqual(['title'])
    const index = readFileSync(join(dir, 'index.jsonl'), 'utf8').trim().split('\n')
    expect(index.map((line) => (JSON.parse(line) as { plugin?: string }).plugin)).toEqual([undefined, 'title'])
    expect(await home.value('select output_size = (select sum(output_size) from archive_result) from snapshot')).toBe(
      true,
    )
    await expectComplete(home, crawl)
  })

  it('keeps files that a later attempt made under the same name', async () => {
    const home = await homes.make()
    home.install('exit_1')
    const crawl = await archived(home, 1, 'exit_1,html,hashes')
    await records(home, ['snapshot', 'retry', '--failed', (await pagesOf(home, crawl))[0]!.id])
    await runAll(home)
    const [later, earlier] = await records(home, ['result', 'list', '--plugin', 'hashes'])
    expect([later!['attempt'], earlier!['attempt']]).toEqual([2, 1])
    await records(home, ['result', 'delete', '--yes', earlier!.id])
    const [page] = await pagesOf(home, crawl)
    expect(existsSync(join(home.dataDir, page!.output_dir, 'hashes/hashes.json'))).toBe(true)
  })

  it('is refused while its page is being worked on', async () => {
    const home = await homes.make()
    home.install('oracle')
    await home.add('--plugins', 'html,oracle', '-c', 'ORACLE_SECONDS=1000', ...urls(1))
    const runner = home.start(['run'])
    const id = await eventually(() =>
      home.value<string>("select id from archive_result where plugin = 'html' and status = 'succeeded'"),
    )
    const { code, stderr } = await home.run(['result', 'delete', '--yes', id])
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(new RegExp(`error: result ${id}: its page is being worked on`))
    expect(await counts(home)).toMatchObject({ results: 2 })
    runner.signal('SIGTERM')
    await runner.says(/draining/)
    await new Promise((resolve) => setTimeout(resolve, 200)) // Two signals within 150 ms count as one.
    runner.signal('SIGTERM')
    await runner.finished()
  })
})

describe.concurrent('what a crash left aside', () => {
  /** A page whose folder was moved aside and whose deletion went no further. */
  async function halfDeleted(home: TestHome): Promise<{ id: string; dir: string; aside: string }> {
    const crawl = await archived(home, 1)
    const [page] = await pagesOf(home, crawl)
    const aside = join(home.dataDir, 'archive/.deleted', `snapshot.${page!.id}`, page!.output_dir)
    mkdirSync(dirname(aside), { recursive: true })
    renameSync(join(home.dataDir, page!.output_dir), aside)
    return { id: crawl, dir: join(home.dataDir, page!.output_dir), aside }
  }

  it('is put back by whoever opens the data dir next, when its row is there', async () => {
    const home = await homes.make()
    const { id } = await halfDeleted(home)
    writeFileSync(join(home.dataDir, 'archive/.deleted/notes.txt'), 'not ours')
    expect((await home.run(['snapshot', 'list'])).code).toBe(0)
    await expectComplete(home, id)
    expect(readdirSync(join(home.dataDir, 'archive/.deleted'))).toEqual(['notes.txt'])
  })

  it('is removed, when its row is gone, however long that takes', async () => {
    const home = await homes.make()
    const { dir } = await halfDeleted(home)
    await home.query('delete from snapshot')
    await endIdleTransactions(home)
    const env = { ARCHIVEBOX_FAILPOINTS: 'delete.settled=sleep:3000' }
    const { code, stderr } = await home.run(['snapshot', 'list'], { env })
    expect(code, stderr).toBe(0)
    expect(stderr).not.toMatch(/database/)
    expect(existsSync(dir)).toBe(false)
    expect(existsSync(join(home.dataDir, 'archive/.deleted'))).toBe(false)
  })
})
