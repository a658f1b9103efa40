import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, pagesOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { expectOneAtATime, sealedCrawl } from '../../support/observer.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually } from '../../support/program.ts'
import { NOBODY, queuedPages, runAll } from '../../support/queued.ts'
import { lines, records, refusal } from '../../support/records.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(4)
})
afterAll(() => site.close())

/** Of a crawl whose pages do not end by themselves. */
const WITHOUT_END = { plugins: ['html', 'oracle'], env: { ORACLE_SECONDS: '1000', TIMEOUT: '1000' } }

const url = (page: number) => `${site.url}/page-${page}.html`

/** The first pages of the site as a crawl that nobody has worked on. */
const queued = (home: TestHome, count: number, ...options: string[]) =>
  queuedPages(
    home,
    Array.from({ length: count }, (_, index) => url(index + 1)),
    ...options,
  )

const statusOf = async (home: TestHome, model: 'crawl' | 'snapshot', id: string) =>
  await home.value<string>(`select status from ${model} where id = $1`, [id])

describe('snapshot list', () => {
  it('shows snapshots newest first, and each filter keeps what it names', async () => {
    const home = await homes.make()
    const first = await queued(home, 2, '--tag', 'old')
    const second = await queued(home, 3, '--tag', 'fresh,other')
    const list = async (...args: string[]) => (await records(home, ['snapshot', 'list', ...args])).map(({ id }) => id)
    const all = await list()
    const { host } = new URL(site.url)
    expect(new Set(all.slice(0, 3))).toEqual(new Set(second.pages))
    expect(new Set(all.slice(3))).toEqual(new Set(first.pages))
    expect(await list('-n', '2')).toEqual(all.slice(0, 2))
    expect((await list('--crawl-id', first.crawl)).sort()).toEqual([...first.pages].sort())
    expect((await list('--crawl-id', first.crawl.slice(0, 23))).sort()).toEqual([...first.pages].sort())
    expect(await list('--snapshot-id', first.pages[1]!)).toEqual([first.pages[1]])
    expect((await list('--tag', 'fresh,nothing')).sort()).toEqual([...second.pages].sort())
    expect((await list('--url__icontains', 'PAGE-2')).sort()).toEqual([first.pages[1], second.pages[1]].sort())
    expect(await list('--url__icontains', 'page_2%')).toEqual([])
    expect(await list('--host', host.toUpperCase())).toEqual(all)
    expect(await list('--host', host.slice(1))).toEqual([])
    await records(home, ['snapshot', 'pause', first.pages[0]!])
    expect(await list('--status', 'paused')).toEqual([first.pages[0]])
    expect(await list('--status', 'queued,paused', '--tag', 'old')).toHaveLength(2)
    expect(await list('--status', 'sealed')).toEqual([])
    expect(await list('--plugin', 'html')).toEqual([])
    const crawls = async (...args: string[]) => (await records(home, ['crawl', 'list', ...args])).map(({ id }) => id)
    expect(await crawls('--snapshot-id', first.pages[0]!)).toEqual([first.crawl])
    expect(await crawls('--tag', 'other')).toEqual([second.crawl])
    expect(await crawls('--url__icontains', 'page-3')).toEqual([second.crawl])
    expect(await crawls('--host', host)).toHaveLength(2)
    expect(await crawls('--host', host.slice(1))).toEqual([])
  })

  it('is whole, however long, unless -n says otherwise', async () => {
    const home = await homes.make()
    const { crawl } = await queued(home, 1)
    await home.query(
      `insert into snapshot (id, crawl_id, url, url_hash, output_dir)
       select gen_random_uuid(), $1, 'http://x/' || n, sha256(n::text::bytea), 'archive/snapshots/' || n
         from generate_series(1, 1200) n`,
      [crawl],
    )
    expect(await records(home, ['snapshot', 'list'])).toHaveLength(1201)
    expect(await records(home, ['snapshot', 'list', '-n', '501'])).toHaveLength(501)
  })

  it.each([
    ['crawl', ['0', '-1']],
    ['snapshot', ['many', '1.5']],
    ['result', ['']],
  ] as const)('refuses filters that make no sense: %s list', async (noun, numbers) => {
    const home = await homes.make()
    const { code, stderr } = await home.run([noun, 'list', '--status', 'nonsense'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/there is no status "nonsense"/)
    expect(stderr).toMatch(/hint: {2}the statuses of a \w+ are queued, started, /)
    await refusal(home, [noun, 'list', '--crawl-id', 'nonsense'], 2, /not an id: nonsense/)
    await refusal(home, [noun, 'list', '--snapshot-id', NOBODY], 2, /there is no snapshot/)
    for (const bad of numbers) await refusal(home, [noun, 'list', '-n', bad], 2, /-n takes a whole number above 0/)
    await refusal(home, [noun, 'list', '--plugin', ','], 2, /--plugin takes names, comma-separated, not ","/)
    await refusal(home, [noun, 'list', '--tag', ''], 2, /--tag takes names, comma-separated, not ""/)
    await refusal(home, [noun, 'retry', '--plugin', ','], 2, /--plugin takes names, comma-separated, not ","/)
    const names = Array.from({ length: 1_001 }, (_, n) => `name-${n}`)
    for (const option of ['--plugin', '--tag']) {
      await refusal(home, [noun, 'list', option, names.join()], 2, /takes up to 1000 names, not 1001/)
      expect((await home.run([noun, 'list', option, names.slice(1).join()])).code).toBe(0)
    }
  })
})

describe('show', () => {
  it('prints one record, found by its id or by a beginning that only it has', async () => {
    const home = await homes.make()
    const { crawl, pages } = await queued(home, 2)
    const [page] = await records(home, ['snapshot', 'show', pages[1]!])
    expect(page).toMatchObject({ type: 'Snapshot', id: pages[1], url: url(2), crawl_id: crawl })
    expect(await records(home, ['crawl', 'show', crawl.toUpperCase()])).toMatchObject([{ type: 'Crawl', id: crawl }])
    expect(await records(home, ['crawl', 'show', crawl.slice(0, 8)])).toMatchObject([{ id: crawl }])
    // Made in the same instant: their ids begin alike.
    await refusal(home, ['snapshot', 'show', pages[1]!.slice(0, 8)], 2, /matches more than one snapshot/)
  })

  it('finds a row by the end of its id, which is random, from six digits on', async () => {
    const home = await homes.make()
    const { crawl, pages } = await queued(home, 2)
    const other = `${pages[0]!.slice(0, -6)}abcdef`
    await home.query('update snapshot set id = $2 where id = $1', [pages[1], other])
    for (const digits of [6, 8, 12, 14, 30, 36])
      expect(await records(home, ['snapshot', 'show', pages[0]!.slice(-digits)])).toMatchObject([{ id: pages[0] }])
    expect(await records(home, ['snapshot', 'show', 'ABCDEF'])).toMatchObject([{ id: other }])
    expect(await records(home, ['snapshot', 'list', '--crawl-id', crawl.slice(-8)])).toHaveLength(2)
    expect(await records(home, ['snapshot', 'pause', 'abcdef'])).toMatchObject([{ id: other, status: 'paused' }])
    await home.query('update snapshot set id = $2 where id = $1', [pages[0], `00000000${other.slice(8)}`])
    await refusal(home, ['snapshot', 'show', 'abcdef'], 2, /matches more than one snapshot/)
    await home.query('update snapshot set id = $1 where id <> $2', [pages[0], other])
    const { stdout } = await home.run(['run', '-', '--exit-on-idle'], { input: 'abcdef\n' })
    expect(stdout).toContain(`"id":"${other}"`)
    expect(await statusOf(home, 'snapshot', other)).toBe('sealed')
    const [runner] = await home.query<{ id: string }>("select id from process where worker_type = 'worker_runner'")
    expect(await records(home, ['process', 'show', runner!.id.slice(-8)])).toMatchObject([{ id: runner!.id }])
  })

  it.each(['crawl', 'snapshot', 'result'])('of a %s that is not there is a mistake', async (noun) => {
    const home = await homes.make()
    await refusal(home, [noun, 'show', NOBODY], 2, new RegExp(`there is no ${noun} ${NOBODY}`))
    await refusal(home, [noun, 'show', '01994f6e'], 2, new RegExp(`there is no ${noun} 01994f6e`))
    await refusal(home, [noun, 'show', '01994'], 2, /not an id: 01994/)
    await refusal(home, [noun, 'show', '01994f6e-0c1ax'], 2, /not an id/)
  })
})

describe('snapshot pause and resume', () => {
  it('puts a page to sleep while its crawl goes on; the crawl waits for it, and run does not', async () => {
    const home = await homes.make()
    const { crawl, pages } = await queued(home, 2)
    await home.query(`update crawl set config = '{"plugins": ["html"]}'`)
    const [paused] = await records(home, ['snapshot', 'pause', pages[0]!])
    expect(paused).toMatchObject({ id: pages[0], status: 'paused', retry_at: '9999-01-01T00:00:00.000Z' })
    await runAll(home)
    expect(await statusOf(home, 'snapshot', pages[0]!)).toBe('paused')
    expect(await statusOf(home, 'snapshot', pages[1]!)).toBe('sealed')
    expect(await statusOf(home, 'crawl', crawl)).toBe('started')
    expect((await home.run(['run', '--exit-on-idle'])).stderr).toContain('nothing left to do')

    await records(home, ['snapshot', 'resume', pages[0]!])
    await runAll(home)
    expect(await expectComplete(home, crawl)).toHaveLength(2)
  })

  it('takes a page from the worker that is at it, and a runner that waits takes it up again', async () => {
    const home = await homes.make()
    home.install('oracle')
    const { crawl, pages } = await queued(home, 1)
    await home.query('update crawl set config = $1', [WITHOUT_END])
    const runner = home.start(['run'])
    const oracles = () => processesOf(home.dataDir).filter(({ command }) => command.includes('oracle')).length
    await eventually(() => oracles() > 0)
    await records(home, ['snapshot', 'pause', pages[0]!])
    await eventually(() => oracles() === 0)
    // Nobody is at the crawl any more: it sleeps until its page is resumed.
    await eventually(() =>
      home.value(
        "select claim_token is null and status = 'started' from crawl where retry_at > now() + interval '1 year'",
      ),
    )
    await home.query(`update crawl set config = jsonb_set(config, '{env,ORACLE_SECONDS}', '"0.05"')`)
    await records(home, ['snapshot', 'resume', pages[0]!])
    await sealedCrawl(home, crawl)
    await expectComplete(home, crawl)
    expectOneAtATime(home)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
  })

  it('is said by add --run, which follows its crawl, together with what goes on with it', async () => {
    const home = await homes.make()
    home.install('slow')
    home.hold('slow')
    const adding = home.start(['add', '--run', '--plugins', 'slow', '-c', 'SLOW_SECONDS=0', url(1), url(2)])
    const page = await eventually(() => home.value<string>('select id from snapshot order by id desc limit 1'))
    await records(home, ['snapshot', 'pause', page])
    home.letGo('slow')
    await adding.says(
      /paused: archivebox-ts snapshot list --crawl-id \S+ --status paused \| archivebox-ts snapshot resume - goes on/,
    )
    await records(
      home,
      ['snapshot', 'resume', '-'],
      lines(...(await records(home, ['snapshot', 'list', '--status', 'paused']))),
    )
    expect((await adding.finished()).code).toBe(0)
    await expectComplete(home, await home.value('select id from crawl'))
  })

  it('resumes nothing before its crawl is resumed, and leaves sealed pages alone', async () => {
    const home = await homes.make()
    const { crawl, pages } = await queued(home, 1)
    await records(home, ['crawl', 'pause', crawl])
    expect((await home.run(['snapshot', 'resume', pages[0]!])).stderr).toContain(
      `crawl ${crawl} is paused: crawl resume ${crawl}`,
    )
    await runAll(home)
    expect(await statusOf(home, 'snapshot', pages[0]!)).toBe('queued')
    await records(home, ['snapshot', 'cancel', pages[0]!])
    await refusal(
      home,
      ['snapshot', 'pause', pages[0]!],
      1,
      new RegExp(`cannot pause any snapshot: ${pages[0]} is sealed`),
    )
    await refusal(home, ['snapshot', 'resume', pages[0]!], 1, /is sealed/)
  })
})

describe('snapshot cancel', () => {
  it('seals a page with what it has; its crawl is sealed with the last one', async () => {
    const home = await homes.make()
    const { crawl, pages } = await queued(home, 2)
    await home.query(`update crawl set config = '{"plugins": ["html"]}'`)
    await records(home, ['snapshot', 'pause', pages[0]!])
    await runAll(home)
    expect(await statusOf(home, 'crawl', crawl)).toBe('started')
    const [cancelled] = await records(home, ['snapshot', 'cancel', pages[0]!])
    expect(cancelled).toMatchObject({ id: pages[0], status: 'sealed', retry_at: null })
    await runAll(home)
    expect(await statusOf(home, 'crawl', crawl)).toBe('sealed')
    expect(await home.value('select count(*) from archive_result where snapshot_id = $1', [pages[0]])).toBe('0')
  })

  it('takes a page from the worker that is at it; the others go on', async () => {
    const home = await homes.make()
    home.install('oracle')
    const { crawl, pages } = await queued(home, 2)
    await home.query('update crawl set config = $1', [WITHOUT_END])
    const runner = home.start(['run'])
    const oracles = () => processesOf(home.dataDir).filter(({ command }) => command.includes('oracle')).length
    await eventually(() => oracles() === 2)
    await records(home, ['snapshot', 'cancel', pages[0]!])
    await eventually(() => oracles() === 1)
    expect(await statusOf(home, 'snapshot', pages[1]!)).toBe('started')
    await records(home, ['snapshot', 'cancel', pages[1]!])
    await eventually(() => oracles() === 0)
    await sealedCrawl(home, crawl)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
  })
})

describe('snapshot retry', () => {
  it('runs failed hooks of these pages again, and of no other', async () => {
    const home = await homes.make()
    home.install('exit_1')
    const { pages } = await queued(home, 2)
    await home.query(`update crawl set config = '{"plugins": ["html", "exit_1"]}'`)
    await runAll(home)
    const [page] = await records(home, ['snapshot', 'retry', '--failed', pages[0]!])
    expect(page).toMatchObject({ id: pages[0], status: 'queued' })
    await runAll(home)
    const attempts = 'select snapshot_id as id, plugin, attempt from archive_result where attempt > 1'
    expect(await home.query(attempts)).toEqual([{ id: pages[0], plugin: 'exit_1', attempt: 2 }])
    expect((await home.run(['snapshot', 'retry', '--plugin', 'html', pages[0]!])).stderr).toBe('nothing to retry\n')
  })
})

describe('ids on stdin', () => {
  it('are taken from records of the type, or one a line; other records go through as they came', async () => {
    const home = await homes.make()
    const { crawl, pages } = await queued(home, 3)
    const listed = (await home.run(['snapshot', 'list', '--snapshot-id', pages[0]!])).stdout
    const other = '{"type":"Crawl",  "id":"as it came"}\n'
    const { code, stdout } = await home.run(['snapshot', 'pause', '-'], { input: `${listed}${other}${pages[1]}\n` })
    expect(code).toBe(0)
    expect(stdout.startsWith(other)).toBe(true)
    expect(
      (await pagesOf(home, crawl))
        .filter(({ status }) => status === 'paused')
        .map(({ id }) => id)
        .sort(),
    ).toEqual(pages.slice(0, 2).sort())
  })

  it('may be none behind a dash: a pipeline that found nothing; without one, or an id, that is a mistake', async () => {
    const home = await homes.make()
    expect(await home.run(['snapshot', 'pause', '-'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'nothing to do: no snapshot among these\n',
    })
    await refusal(home, ['snapshot', 'pause'], 2, /no snapshot id given/)
    await refusal(home, ['snapshot', 'pause', '-'], 2, /a record without an id/, '{"type":"Snapshot"}\n')
    await refusal(home, ['snapshot', 'pause', '-'], 2, /not an id: nonsense/, 'nonsense\n')
  })

  it('of rows that have gone in the meantime are left out', async () => {
    const home = await homes.make()
    const { pages } = await queued(home, 1)
    const input = lines({ type: 'Snapshot', id: NOBODY }, { type: 'Snapshot', id: pages[0] })
    const { code, stderr } = await home.run(['snapshot', 'pause', '-'], { input })
    expect({ code, stderr }).toEqual({ code: 0, stderr: `1 of these no longer exist\npaused: ${pages[0]}\n` })
  })
})
