import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, pagesOf } from '../../support/archive.ts'
import { useHomes } from '../../support/homes.ts'
import { openRows } from '../../support/observer.ts'
import { bytes, pages, type Site, startSite } from '../../support/site.ts'

const LINKED = 30
const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite({
    ...pages(LINKED),
    '/parent':
      '<title>Parent</title><a href="/child?a=1#one">1</a><a href="/child?a=1#two">2</a><a ' +
      'href="mailto:x@y.z">m</a><a href="/parent">self</a>',
    '/child': '<title>Child</title><a href="/grandchild">g</a>',
    '/grandchild': '<title>Grandchild</title><a href="/great-grandchild">g</a>',
    '/files': '<a href="/document.pdf">pdf</a><a href="/notes.bin">bin</a>',
    '/notes.bin': bytes('application/octet-stream', 'bits'),
  })
})
afterAll(() => site.close())

const paths = (rows: readonly { url: string }[]) => rows.map(({ url }) => url.replace(site.url, '')).sort()

describe('a crawl', () => {
  it('with depth 1 archives the page and each page it links to, once, and then leaves', async () => {
    const home = await homes.make()
    const crawl = await home.add('--depth', '1', '--tag', 'islands, ferry', '--label', 'Thirty pages', `${site.url}/`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    const archived = await expectComplete(home, crawl)
    expect(paths(archived)).toEqual(['/', ...Array.from({ length: LINKED }, (_, i) => `/page-${i + 1}.html`)].sort())
    const [root, ...linked] = archived
    expect(root).toMatchObject({ depth: 0, parent_snapshot_id: null, title: 'Index' })
    for (const page of linked)
      expect(page).toMatchObject({ depth: 1, parent_snapshot_id: root!.id, title: expect.stringMatching(/^Page \d+$/) })
    const tags = await home.query(
      `select t.name, count(*)::int as pages from tag t join snapshot_tag st on st.tag_id = t.id group by 1 order by 1`,
    )
    expect(tags).toEqual([
      { name: 'ferry', pages: LINKED + 1 },
      { name: 'islands', pages: LINKED + 1 },
    ])
    expect(await openRows(home)).toEqual([])
    // A few worker processes did all of it.
    expect(Number(await home.value("select count(*) from process where worker_type = 'snapshot'"))).toBeLessThan(
      LINKED / 2,
    )
    const levels = await home.query(`
      select distinct h.process_type as hook, w.worker_type as worker, c.worker_type as above, r.worker_type as top
      from process h join process w on w.id = h.parent_id join process c on c.id = w.parent_id join process r
        on r.id = c.parent_id
      where h.process_type = 'hook' and w.worker_type = 'snapshot'`)
    expect(levels).toEqual([{ hook: 'hook', worker: 'snapshot', above: 'crawl', top: 'worker_runner' }])
  })

  it('follows links as many steps as it is told, and counts a URL that differs only by its fragment as the same', async () => {
    const home = await homes.make()
    const crawl = await home.add('--depth', '2', '--plugins', 'html,parse_html_urls', `${site.url}/parent`)
    await home.run(['run', '--exit-on-idle'])
    const archived = await expectComplete(home, crawl)
    expect(archived.map(({ url, depth }) => `${depth} ${url.replace(site.url, '')}`)).toEqual([
      '0 /parent',
      '1 /child?a=1',
      '2 /grandchild',
    ])
  })

  it('without a depth archives what it was given, each URL once', async () => {
    const home = await homes.make()
    const url = `${site.url}/page-1.html`
    const crawl = await home.add(
      '--plugins',
      'html',
      url,
      `${url}#part`,
      `  ${url.replace('http:', 'HTTP:')}`,
      `${site.url}/page-2.html`,
    )
    await home.run(['run', '--exit-on-idle'])
    expect(paths(await expectComplete(home, crawl))).toEqual(['/page-1.html', '/page-2.html'])
    expect(site.hits('/grandchild')).toBeLessThanOrEqual(1)
  })

  it('takes at most --max-urls pages', async () => {
    const home = await homes.make()
    const crawl = await home.add('--depth', '1', '--max-urls', '5', '--plugins', 'html,parse_html_urls', `${site.url}/`)
    await home.run(['run', '--exit-on-idle'])
    expect(await expectComplete(home, crawl)).toHaveLength(5)
  })

  it('keeps to its allow and deny lists, deny first', async () => {
    const home = await homes.make()
    const lists = ['--url-allowlist', String.raw`/$,/page-1\d?\.html$`, '--url-denylist', 'page-1[3-9]']
    const crawl = await home.add('--depth', '1', ...lists, '--plugins', 'html,parse_html_urls', `${site.url}/`)
    const none = await home.add('--url-denylist', '127.0.0.1', '--plugins', 'html', `${site.url}/`)
    const { code } = await home.run(['run', '--exit-on-idle'])
    expect(code).toBe(0)
    expect(paths(await expectComplete(home, crawl))).toEqual([
      '/',
      '/page-1.html',
      '/page-10.html',
      '/page-11.html',
      '/page-12.html',
    ])
    expect(await expectComplete(home, none)).toEqual([])
    expect(await home.query('select id, message from crawl order by created_at')).toEqual([
      { id: crawl, message: '' },
      { id: none, message: 'no pages: its allow and deny lists leave none, or they were deleted' },
    ])
  })

  it('saves what is not a page as the file that it is', async () => {
    const home = await homes.make()
    const { code, stdout, stderr } = await home.run(['add', '--run', '--json', '--depth', '1', `${site.url}/files`])
    expect(code, stderr).toBe(0)
    const archived = await pagesOf(home, (JSON.parse(stdout) as { id: string }).id)
    expect(paths(archived)).toEqual(['/document.pdf', '/files', '/notes.bin'])
    const saved = await home.query(
      `select r.output_files from archive_result r join snapshot s on s.id = r.snapshot_id where r.plugin = 'staticfile'
        and s.url like '%.pdf'`,
    )
    expect(Object.keys(saved[0]!['output_files'] as object)).toContain('document.pdf')
  })

  it('of --dry-run is only described', async () => {
    const home = await homes.make()
    const { code, stdout, stderr } = await home.run([
      'add',
      '--dry-run',
      '--depth',
      '1',
      `${site.url}/`,
      `${site.url}/child`,
    ])
    expect(code).toBe(0)
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { url: string }).url),
    ).toEqual([`${site.url}/`, `${site.url}/child`])
    expect(stderr).toContain('nothing was written')
    expect(await home.value('select count(*) from crawl')).toBe('0')
  })

  it('of --dry-run has its lists and its limit applied', async () => {
    const home = await homes.make()
    const given = ['page-1', 'page-2', 'child', 'page-3', 'page-4'].map((name) => `${site.url}/${name}`)
    const dry = async (...options: string[]) => {
      const { stdout, stderr } = await home.run(['add', '--dry-run', ...options, ...given])
      return [stdout.match(/(?<="url":"[^"]*)\/[\w-]+(?=")/g), stderr.trim()]
    }
    expect(await dry('--url-allowlist', '/page', '--url-denylist', '/page-4', '--max-urls', '2')).toEqual([
      ['/page-1', '/page-2'],
      'dry run: 2 URLs, 2 URLs excluded by the allow and deny lists, 1 URL beyond --max-urls, depth 0; ' +
        'nothing was written',
    ])
    expect(await dry('--url-allowlist', 'nosuch.example')).toEqual([
      null,
      'dry run: 0 URLs, 5 URLs excluded by the allow and deny lists, depth 0; nothing was written',
    ])
  })
})
