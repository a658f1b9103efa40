import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { NOBODY, queuedPages, runAll } from '../../support/queued.ts'
import { lines, records, refusal } from '../../support/records.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(4)
})
afterAll(() => site.close())

const url = (page: number) => `${site.url}/page-${page}.html`

/** The first pages of the site as a crawl that nobody has worked on. */
const queued = (home: TestHome, count: number, ...options: string[]) =>
  queuedPages(
    home,
    Array.from({ length: count }, (_, index) => url(index + 1)),
    ...options,
  )

describe('snapshot create', () => {
  it('queues pages in a crawl of their own, of which only they are archived', async () => {
    const home = await homes.make()
    const made = await records(home, ['snapshot', 'create', '--tag', 'news,daily', url(1), url(2)])
    expect(made).toHaveLength(2)
    expect(made[0]).toEqual({
      type: 'Snapshot',
      home_node: null,
      id: expect.any(String),
      crawl_id: made[1]!['crawl_id'],
      parent_snapshot_id: null,
      url: expect.stringContaining('/page-'),
      title: null,
      depth: 0,
      tags: ['daily', 'news'],
      status: 'queued',
      outcome: null,
      cause: null,
      http_status: null,
      settings: {},
      notes: null,
      bookmarked_at: null,
      sealed_at: null,
      output_size: 0,
      created_at: expect.stringMatching(/^\d{4}-/),
      retry_at: expect.stringMatching(/^\d{4}-/),
      output_dir: expect.stringContaining(`archive/snapshots/`),
    })
    await home.query(`update crawl set config = '{"plugins": ["html"]}'`)
    await runAll(home)
    expect(await expectComplete(home, String(made[0]!['crawl_id']))).toHaveLength(2)
  })

  it('reads URLs and records from stdin, and lets records of other types through', async () => {
    const home = await homes.make()
    const crawl = { type: 'Crawl', id: NOBODY, urls: [url(1)] }
    const input = `# a comment\n${url(1)}\n${lines({ type: 'Snapshot', url: url(2) }, crawl, { url: url(3) })}`
    const [first, ...made] = await records(home, ['snapshot', 'create', '-'], input)
    expect(first).toEqual(crawl)
    expect(made.map((record) => record['url']).sort()).toEqual([url(1), url(2), url(3)])
  })

  it('adds pages to a crawl that is not at its end; one that it has already stays as it is', async () => {
    const home = await homes.make()
    const { crawl, pages } = await queued(home, 1)
    const made = await records(home, ['snapshot', 'create', '--crawl-id', crawl, '--tag', 'more', url(1), url(2)])
    expect(made.map((record) => record['crawl_id'])).toEqual([crawl, crawl])
    expect(made.map(({ id }) => id)).toContain(pages[0])
    expect(await home.value('select count(*) from snapshot')).toBe('2')
    await home.run(['crawl', 'cancel', crawl])
    await refusal(
      home,
      ['snapshot', 'create', '--crawl-id', crawl.slice(0, 13), url(3)],
      1,
      /takes no more pages: it is sealed/,
    )
    expect(await home.value('select count(*) from snapshot')).toBe('2')
  })

  it('refuses what it cannot archive, and writes nothing', async () => {
    const home = await homes.make()
    await refusal(home, ['snapshot', 'create'], 2, /no URL given/)
    await refusal(home, ['snapshot', 'create', 'nonsense'], 2, /not a URL: nonsense/)
    await refusal(home, ['snapshot', 'create', '--tag', 'a\u0007b', url(1)], 2, /cannot be a tag/)
    await refusal(home, ['snapshot', 'create', '-'], 2, /not a record: {"url"/, '{"url":\n')
    await refusal(home, ['snapshot', 'create', '--crawl-id', NOBODY, url(1)], 2, /there is no crawl/)
    expect(await home.value('select count(*) from crawl')).toBe('0')
  })
})

describe('crawl create', () => {
  it('queues one crawl of all URLs, as add does', async () => {
    const home = await homes.make()
    const [crawl, ...others] = await records(home, [
      'crawl',
      'create',
      '--depth',
      '1',
      '--tag',
      'a',
      '--label',
      'mine',
      url(1),
      url(2),
    ])
    expect(others).toEqual([])
    expect(crawl).toMatchObject({
      type: 'Crawl',
      urls: [url(1), url(2)],
      max_depth: 1,
      tags: ['a'],
      label: 'mine',
      status: 'queued',
    })
    expect(await home.value('select count(*) from snapshot')).toBe('0')
  })

  it('archives listed pages again, and makes a crawl like each crawl of a list', async () => {
    const home = await homes.make()
    const { crawl } = await queued(home, 2)
    const pages = (await home.run(['snapshot', 'list'])).stdout
    const [again] = await records(home, ['crawl', 'create', '-'], pages)
    expect([...(again!['urls'] as string[])].sort()).toEqual([url(1), url(2)])
    const like = { type: 'Crawl', id: crawl, urls: [url(3)], max_depth: 2, max_urls: 5, tags: ['x'], label: 'like' }
    const result = { type: 'ArchiveResult', id: NOBODY }
    const [passed, copy] = await records(home, ['crawl', 'create'], lines(like, result))
    expect(passed).toEqual(result)
    expect(copy).toMatchObject({ ...like, id: expect.not.stringContaining(crawl), status: 'queued' })
    const typed = ['--depth', '0', '--max-urls', '7', '--tag', 'y', '--label', 'mine']
    const [other] = await records(home, ['crawl', 'create', ...typed, '-'], lines(like))
    expect(other).toMatchObject({ urls: [url(3)], max_depth: 0, max_urls: 7, tags: ['y'], label: 'mine' })
    await refusal(home, ['crawl', 'create', '-'], 2, /cannot be a tag/, lines({ ...like, tags: ['x\ty'] }))
    await refusal(home, ['crawl', 'create', '-'], 2, /not a valid crawl/, lines({ ...like, max_depth: 9 }))
    await refusal(home, ['crawl', 'create', '--depth', '9', url(1)], 2, /--depth/)
    expect(await home.value('select count(*) from crawl')).toBe('4')
  })
})
