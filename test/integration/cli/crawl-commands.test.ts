import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, pagesOf } from '../../support/archive.ts'
import { crawl, end, halfway, nothingRuns, statuses } from '../../support/crawls.ts'
import { useHomes } from '../../support/homes.ts'
import { sealedCrawl } from '../../support/observer.ts'
import { NOBODY } from '../../support/queued.ts'
import { pageUrls, type Site, startSite } from '../../support/site.ts'

const FINAL = "('succeeded', 'failed', 'skipped', 'noresults')"

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(12)
})
afterAll(() => site.close())

describe('crawl list', () => {
  it('refuses a status that no crawl can have', async () => {
    const home = await homes.make()
    const { code, stdout, stderr } = await home.run(['crawl', 'list', '--status', 'nonsense'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toBe(
      'error: there is no status "nonsense"\nhint:  the statuses of a crawl are queued, started, paused, sealed\n',
    )
  })

  it('shows crawls newest first, filters by status, and stops at -n', async () => {
    const home = await homes.make()
    const ids: string[] = []
    for (const label of ['first', 'second', 'third'])
      ids.unshift(
        await home.add('--label', label, '--tag', 'a,b', '--depth', '1', '--max-urls', '9', pageUrls(site, 1)[0]!),
      )
    const list = async (...args: string[]) => {
      const { code, stdout, stderr } = await home.run(['crawl', 'list', ...args])
      expect(code, stderr).toBe(0)
      return stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    }
    const all = await list()
    expect(all.map(({ id }) => id)).toEqual(ids)
    expect(all[0]).toEqual({
      type: 'Crawl',
      home_node: null,
      id: ids[0],
      urls: pageUrls(site, 1),
      status: 'queued',
      counts: { queued: 0, started: 0, paused: 0, archived: 0, partial: 0, failed: 0 },
      max_depth: 1,
      urls_total: 1,
      max_urls: 9,
      max_size: 0,
      tags: ['a', 'b'],
      label: 'third',
      message: '',
      settings: expect.any(Object),
      created_at: expect.stringMatching(/^\d{4}-/),
      retry_at: expect.stringMatching(/^\d{4}-/),
      output_dir: expect.stringMatching(/^archive\/crawls\//),
    })
    expect((await list('-n', '2')).map(({ id }) => id)).toEqual(ids.slice(0, 2))
    await crawl(home, 'pause', ids[1]!)
    expect((await list('--status', 'paused')).map(({ id }) => id)).toEqual([ids[1]])
    expect((await list('--status', 'queued')).map(({ id }) => id)).toEqual([ids[0], ids[2]])
    expect(await list('--status', 'sealed')).toEqual([])
    expect((await home.run(['crawl', 'list', '-n', 'many'])).code).toBe(2)
  })
})

describe('crawl cancel', () => {
  it('seals a running crawl with what it has, skips what is open, and nothing of it goes on', async () => {
    const home = await homes.make('oracle')
    const { id, runner } = await halfway(home, pageUrls(site, 12), 1000)
    const finished = await home.query(
      `select id, status, end_ts from archive_result where status in ${FINAL} order by id`,
    )
    expect(await crawl(home, 'cancel', id)).toContain(`sealed: ${id}`)
    expect(await home.query('select status, retry_at from crawl')).toEqual([{ status: 'sealed', retry_at: null }])
    expect(await statuses(home)).toEqual({ sealed: 12 })
    await nothingRuns(home)
    expect(await statuses(home)).toEqual({ sealed: 12 })
    expect(await home.query(`select id from archive_result where status not in ${FINAL}`)).toEqual([])
    const ids = finished.map((result) => result['id'])
    expect(
      await home.query('select id, status, end_ts from archive_result where id = any($1) order by id', [ids]),
    ).toEqual(finished)
    const others = await home.query<{ status: string; output_str: string }>(
      'select status, output_str from archive_result where not id = any($1)',
      [ids],
    )
    expect(others.length).toBeGreaterThan(0)
    for (const other of others) expect(other).toEqual({ status: 'skipped', output_str: 'cancelled' })
    expect(runner.isOver).toBe(false)

    const next = await home.add('--plugins', 'html', pageUrls(site, 1)[0]!)
    await sealedCrawl(home, next)
    await end(runner)
    expect((await home.run(['run', '--exit-on-idle'])).stderr).toContain('nothing left to do')
  })

  it('rewrites the pages of the crawl, of its snapshots and of the archive: they show what became of it', async () => {
    const home = await homes.make('oracle')
    const { id, runner } = await halfway(home, pageUrls(site, 12), 1000)
    await crawl(home, 'cancel', id)
    const [row] = await home.query<{ output_dir: string }>('select output_dir from crawl')
    const page = (...path: string[]) => readFileSync(join(home.dataDir, ...path, 'index.html'), 'utf8')
    expect(page(row!.output_dir)).toContain('<span class="status sealed">Finished</span>')
    expect(page()).toMatch(/badge (failed|partial)/)
    for (const { output_dir } of await pagesOf(home, id))
      expect(page(output_dir)).not.toMatch(/class="(queued|started)"/)
    await nothingRuns(home)
    await end(runner)
  })

  it('seals what is queued and what is paused', async () => {
    const home = await homes.make()
    const queued = await home.add('--plugins', 'html', pageUrls(site, 1)[0]!)
    const paused = await home.add('--plugins', 'html', pageUrls(site, 1)[0]!)
    await crawl(home, 'pause', paused)
    await crawl(home, 'cancel', queued, paused)
    expect(await home.query('select status, retry_at from crawl')).toEqual(
      Array(2).fill({ status: 'sealed', retry_at: null }),
    )
    expect((await home.run(['run', '--exit-on-idle'])).stderr).toContain('nothing left to do')
    expect(await home.query('select id from snapshot')).toEqual([])
  })
})

describe('a crawl command', () => {
  it.each(['pause', 'resume', 'cancel', 'retry'])(
    'refuses what is no id: %s leaves with 2 and changes nothing',
    async (verb) => {
      const home = await homes.make()
      const id = await home.add('--plugins', 'html', pageUrls(site, 1)[0]!)
      for (const bad of ['nonsense', `${id}x`, "' or true --", '']) {
        const { code, stdout, stderr } = await home.run(['crawl', verb, id, bad])
        expect(code, stderr).toBe(2)
        expect(stdout).toBe('')
        expect(stderr).toMatch(/^error: not an id:/)
      }
      expect(await home.query('select status from crawl')).toEqual([{ status: 'queued' }])
    },
  )

  it.each(['pause', 'resume', 'cancel'])(
    'that finds nothing to %s leaves with 1 and says in which state it found what',
    async (verb) => {
      const home = await homes.make()
      const id = await home.add('--plugins', 'html', pageUrls(site, 1)[0]!)
      expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
      const { code, stdout, stderr } = await home.run(['crawl', verb, id])
      expect(code, stderr).toBe(1)
      expect(stdout).toBe('')
      expect(stderr).toBe(`error: cannot ${verb} any crawl: ${id} is sealed\n`)
      await expectComplete(home, id)
    },
  )

  it.each(['pause', 'resume', 'cancel', 'retry'])(
    'on a crawl that is not there is a mistake: %s leaves with 2, nothing changes',
    async (verb) => {
      const home = await homes.make()
      const id = await home.add('--plugins', 'html', pageUrls(site, 1)[0]!)
      const { code, stdout, stderr } = await home.run(['crawl', verb, id, NOBODY])
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(`error: there is no crawl ${NOBODY}\n`)
      expect(await home.query('select status from crawl')).toEqual([{ status: 'queued' }])
    },
  )

  it('works on those that it can change, and ids may be written in capitals', async () => {
    const home = await homes.make()
    const id = await home.add('--plugins', 'html', pageUrls(site, 1)[0]!)
    const other = await home.add('--plugins', 'html', pageUrls(site, 1)[0]!)
    expect(await crawl(home, 'pause', id.toUpperCase())).toBe(`paused: ${id}\n`)
    expect(await crawl(home, 'pause', id, other)).toBe(`paused: ${other}\nleft as they are: ${id} is paused\n`)
    expect((await home.run(['crawl', 'pause', id])).code).toBe(1)
    await crawl(home, 'cancel', other)
    await crawl(home, 'resume', id)
    expect((await home.run(['crawl', 'resume', id])).code).toBe(1)
  })
})
