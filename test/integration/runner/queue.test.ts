import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete } from '../../support/archive.ts'
import { useHomes } from '../../support/homes.ts'
import { sealedCrawl } from '../../support/observer.ts'
import { eventually } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(6)
})
afterAll(() => site.close())

const page = (number: number) => `${site.url}/page-${number}.html`

/**
 * Has an idle runner work on a crawl that is added.
 * @returns in seconds: how long after the begin of its lead that was (`late`), and until it started a worker for it
 *   (`s`)
 */
async function untilNoticed(): Promise<{ late: number; s: number }> {
  const home = await homes.make()
  const paused = await home.add('--plugins', 'html', page(3))
  expect((await home.run(['crawl', 'pause', paused])).code).toBe(0)
  const runner = home.start(['run'])
  await runner.says(/leading/)
  const listener =
    "application_name like 'archivebox-ts listen %' and datname = current_database() and query ilike 'listen %'"
  await eventually(() => home.value(`select true from pg_stat_activity where ${listener}`))
  // Faster than a command can.
  const crawl = await home.value<string>(
    `insert into crawl select (jsonb_populate_record(c, jsonb_build_object(
       'id', gen_random_uuid(), 'urls', $1::text, 'status', 'queued', 'retry_at', now(), 'created_at', now()))).*
         from crawl c returning id`,
    [page(4)],
  )
  await sealedCrawl(home, crawl)
  await expectComplete(home, crawl)
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
  const [noticed] = await home.query<{ late: number; s: number }>(
    `select extract(epoch from c.created_at - r.promoted_at)::float8 as late,
      extract(epoch from w.created_at - c.created_at)::float8 as s
     from process r, crawl c, process w where r.worker_type = 'worker_runner' and c.id = $1 and w.worker_type = 'crawl'
       order by w.seq limit 1`,
    [crawl],
  )
  return noticed!
}

describe('the queue', () => {
  it('takes two crawls before anybody runs, and run --exit-on-idle works on both and leaves with 0', async () => {
    const home = await homes.make()
    const { stdout, stderr, code } = await home.run(['add', '--plugins', 'html', page(1)])
    expect(code, stderr).toBe(0)
    const first = JSON.parse(stdout) as Record<string, unknown>
    expect(first).toMatchObject({
      type: 'Crawl',
      status: 'queued',
      urls: [page(1)],
      max_depth: 0,
      max_urls: 0,
      max_size: 0,
      tags: [],
      label: '',
    })
    const second = await home.add('--plugins', 'html', page(2))
    expect(await home.query('select status from crawl')).toEqual([{ status: 'queued' }, { status: 'queued' }])
    const run = await home.run(['run', '--exit-on-idle'])
    expect(run.code, run.stderr).toBe(0)
    expect(run.stdout).toBe('')
    for (const crawl of [String(first['id']), second]) expect(await expectComplete(home, crawl)).toHaveLength(1)
  })

  it('is empty: run --exit-on-idle leaves with 0 at once', async () => {
    const home = await homes.make()
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('nothing left to do')
  })

  it('tells whoever listens that something was added', async () => {
    const home = await homes.make()
    const listener = new pg.Client(home.databaseUrl)
    await listener.connect()
    const heard = new Promise((resolve) => listener.once('notification', ({ channel }) => resolve(channel)))
    await listener.query('listen archivebox_work')
    await home.add('--plugins', 'html', page(1))
    await listener.query('select') // What was said before comes before its answer.
    await listener.end()
    expect(await Promise.race([heard, 'nothing'])).toBe('archivebox_work')
  })

  it('wakes an idle runner by notification: it listens, and works at once on what is added while it waits', async () => {
    // By itself it looks when it begins to lead, and 5 s later: of what it notices in between it was told. On a drowned
    // machine we may be too late to tell: once more.
    const { late, s } = await eventually(async () => {
      const noticed = await untilNoticed()
      return noticed.late < 1.5 ? noticed : undefined
    }, 120_000)
    expect(late + s).toBeLessThan(5)
  })

  it('works on what is added when the notification is lost, by its poll', async () => {
    const home = await homes.make()
    await home.query('drop trigger crawl_queued on crawl')
    const runner = home.start(['run'])
    await runner.says(/leading/)
    const crawl = await home.add('--plugins', 'html', page(3))
    await eventually(() => home.value("select status = 'sealed' from crawl where id = $1", [crawl]))
    runner.signal('SIGINT')
    expect((await runner.finished()).code).toBe(0)
    await expectComplete(home, crawl)
  })

  it('is read from arguments, from a file and from stdin, with comments and blank lines left out', async () => {
    const home = await homes.make()
    const file = join(home.dataDir, 'urls.txt')
    writeFileSync(file, `# pages\n${page(1)}\n\n  ${page(2)}  \r\n`)
    const { code, stdout } = await home.run(['add', '--file', file, '-', page(4)], {
      input: `${page(3)}\n# no\n${page(1)}\n`,
    })
    expect(code).toBe(0)
    expect((JSON.parse(stdout) as { urls: string[] }).urls.sort()).toEqual([page(1), page(2), page(3), page(4)])
    const piped = await home.run(['add'], { input: page(5) })
    expect((JSON.parse(piped.stdout) as { urls: string[] }).urls).toEqual([page(5)])
  })

  it('is worked on by add --run itself, by the runner that leads for add --wait, and only one crawl with --crawl-id', async () => {
    const home = await homes.make()
    const other = await home.add('--plugins', 'html', page(1))
    const crawl = await home.add('--plugins', 'html', page(2))
    expect((await home.run(['run', '--exit-on-idle', '--crawl-id', crawl])).code).toBe(0)
    await expectComplete(home, crawl)
    expect(await home.value('select status from crawl where id = $1', [other])).toBe('queued')

    const runner = home.start(['run'])
    await runner.says(/leading/)
    const waited = await home.run(['add', '--wait', '--json', '--plugins', 'html', page(3)])
    expect(waited.code, waited.stderr).toBe(0)
    const followed = await home.run(['add', '--run', '--json', '--plugins', 'html', page(4)])
    expect(followed.code, followed.stderr).toBe(0)
    for (const { stdout } of [waited, followed]) await expectComplete(home, (JSON.parse(stdout) as { id: string }).id)
    expect(runner.isOver).toBe(false)
    expect(await home.value("select count(*) from process where worker_type = 'worker_runner'")).toBe('2')
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
    await expectComplete(home, other)

    // Its runner starts ahead of the crawl, of which there is none when all is archived.
    const needless = await home.run(['add', '--run', '--plugins', 'html', page(4)])
    expect(needless.code, needless.stderr).toBe(0)
    expect(needless.stderr).not.toMatch(/error|leading/)
    expect(await home.value("select count(*) from process where worker_type = 'worker_runner'")).toBe('2')
  })
})
