import { Parser } from 'htmlparser2'
import { describe, expect, it } from 'vitest'
import { type ArchivePage, archivePage } from '../../src/pages/archive-page.ts'
import { type CrawlPage, crawlPage } from '../../src/pages/crawl-page.ts'
import { href, html, page, sizeText, when } from '../../src/pages/layout.ts'
import { type SnapshotPage, snapshotPage } from '../../src/pages/snapshot-page.ts'

const EVIL = `</title></style><script>alert(1)</script><img src=x onerror=alert(2)>"'&amp;<!--`
const EVIL_FILE = `a b/#?%41"'><script>alert(3)</script>&amp;.html`
const ADDED = new Date('2026-02-03T04:05:06Z')

const snapshot: SnapshotPage = {
  url: `http://example.com/?q=%22%3E&x=${EVIL}`,
  title: EVIL,
  createdAt: ADDED,
  depth: 1,
  tags: [EVIL],
  crawlHref: '../../../../crawls/20260203/example.com/id/index.html',
  topHref: '../../../../../index.html',
  results: [
    {
      plugin: 'wget',
      hookName: EVIL,
      status: 'succeeded',
      output: EVIL,
      files: {
        [EVIL_FILE]: { size: 5, mimetype: 'text/html' },
        [`${EVIL_FILE}.png`]: { size: 7, mimetype: 'image/png' },
      },
      seconds: 0.5,
    },
    { plugin: EVIL, hookName: 'on_Snapshot__99_x.sh', status: 'failed', output: EVIL, files: {}, seconds: null },
  ],
}

const crawl: CrawlPage = {
  id: '0199-id',
  urls: [snapshot.url],
  label: EVIL,
  tags: [EVIL],
  status: 'started',
  message: EVIL,
  maxDepth: 2,
  createdAt: ADDED,
  topHref: '../../../../../index.html',
  snapshots: [
    {
      url: snapshot.url,
      title: EVIL,
      status: 'sealed',
      depth: 0,
      path: '../../a b/#?%41',
      size: 12,
      succeeded: 3,
      failed: 1,
    },
    {
      url: 'http://example.com/2',
      title: null,
      status: 'queued',
      depth: 1,
      path: '../x',
      size: 0,
      succeeded: 0,
      failed: 0,
    },
  ],
  total: 5_002,
}

const archive: ArchivePage = {
  crawls: [
    {
      name: EVIL,
      status: 'sealed',
      createdAt: ADDED,
      path: 'archive/crawls/20260203/a b#?%41',
      snapshots: 2,
      sealed: 1,
    },
  ],
  totalCrawls: 3,
  totalSnapshots: 1,
}

const PAGES: Readonly<Record<string, string>> = {
  snapshot: snapshotPage(snapshot),
  crawl: crawlPage(crawl),
  archive: archivePage(archive),
}

interface Read {
  readonly elements: readonly { readonly name: string; readonly attributes: Readonly<Record<string, string>> }[]
  readonly text: string
  readonly comments: number
}

/** A page as a browser would understand it. */
function read(markup: string): Read {
  const elements: { name: string; attributes: Record<string, string> }[] = []
  let text = ''
  let comments = 0
  const parser = new Parser({
    onopentag: (name, attributes) => elements.push({ name, attributes: { ...attributes } }),
    ontext: (part) => {
      text += part
    },
    oncomment: () => {
      comments += 1
    },
  })
  parser.end(markup)
  return { elements, text, comments }
}

const links = (markup: string) =>
  read(markup).elements.flatMap(({ attributes }) => attributes['href'] ?? attributes['src'] ?? [])

describe.each(Object.entries(PAGES))('the %s page', (_name, markup) => {
  it('shows hostile titles, URLs and file names as the text that they are', () => {
    const { elements, text, comments } = read(markup)
    expect(comments).toBe(0)
    expect(text).toContain(EVIL)
    const names = new Set(elements.map(({ name }) => name))
    for (const name of ['script', 'iframe', 'object', 'embed', 'link', 'base', 'form'])
      expect(names).not.toContain(name)
    expect(
      elements.flatMap(({ attributes }) => Object.keys(attributes)).filter((name) => name.startsWith('on')),
    ).toEqual([])
    expect(elements.filter(({ name }) => name === 'title')).toHaveLength(1)
    expect(elements.filter(({ name }) => name === 'style')).toHaveLength(1)
  })

  it('loads nothing from elsewhere: it opens from disk, for ever, and gives no address away', () => {
    const { elements } = read(markup)
    for (const { name, attributes } of elements) {
      for (const attribute of ['src', 'srcset', 'background', 'poster', 'data'])
        expect(attributes[attribute] ?? '', `${name} ${attribute}`).not.toMatch(/^\s*([a-z][a-z0-9+.-]*:|\/)/i)
      expect(attributes['style'], name).toBeUndefined()
    }
    const style = markup.slice(markup.indexOf('<style>'), markup.indexOf('</style>'))
    expect(style).not.toMatch(/url\(|@import|https?:/i)
    expect(elements.find(({ attributes }) => attributes['name'] === 'referrer')?.attributes['content']).toBe(
      'no-referrer',
    )
    expect(elements.some(({ attributes }) => attributes['charset'] === 'utf-8')).toBe(true)
  })

  it('links to files by relative paths, each step percent-encoded', () => {
    const local = links(markup).filter((link) => !link.startsWith('http://example.com/'))
    expect(local.length).toBeGreaterThan(0)
    for (const link of local) {
      expect(link).not.toMatch(/^(\/|[a-z]+:)/i)
      expect(link).not.toMatch(/[\s"<>#?]/)
      expect(() => decodeURIComponent(link)).not.toThrow()
    }
  })
})

describe('the snapshot page', () => {
  it('leads to every plugin’s main file, its folder and its picture, under their true names', () => {
    const decoded = links(PAGES['snapshot']!).map((link) => link.split('/').map(decodeURIComponent).join('/'))
    expect(decoded).toEqual(
      expect.arrayContaining([
        `wget/${EVIL_FILE}`,
        'wget/',
        `wget/${EVIL_FILE}.png`,
        snapshot.crawlHref,
        snapshot.topHref,
      ]),
    )
  })

  it('links to the page itself, which is the only way out', () => {
    const outside = read(PAGES['snapshot']!).elements.filter(({ attributes }) => attributes['href']?.startsWith('http'))
    expect(outside).toHaveLength(1)
    expect(outside[0]?.attributes).toMatchObject({ href: snapshot.url, rel: 'noreferrer' })
  })

  it('says what failed, and what took how long', () => {
    const { text } = read(PAGES['snapshot']!)
    for (const word of ['failed', 'succeeded', '0.50 s', '2026-02-03 04:05 UTC', 'depth 1', '2 files', '12 B'])
      expect(text).toContain(word)
  })

  it('falls back to the URL where there is no title', () => {
    const { text } = read(snapshotPage({ ...snapshot, title: null, url: 'http://plain.example/', results: [] }))
    expect(text.match(/http:\/\/plain\.example\//g)).toHaveLength(3)
  })
})

describe('the lists', () => {
  it('say how many are not shown', () => {
    expect(read(PAGES['crawl']!).text).toContain('and 5000 more')
    expect(read(PAGES['archive']!).text).toContain('and 2 older')
    expect(read(crawlPage({ ...crawl, total: 2 })).text).not.toContain(' more')
  })

  it('count what is done of what there is', () => {
    expect(read(PAGES['archive']!).text).toContain('1 of 2')
    expect(read(PAGES['archive']!).text).toContain('1 page in 3 crawls')
  })

  it('name a crawl by its label, else by its first URL, else by its id', () => {
    const title = (data: CrawlPage) => /<title>(.*?)<\/title>/s.exec(crawlPage(data))?.[1]
    expect(title({ ...crawl, label: 'News' })).toBe('News')
    expect(title({ ...crawl, label: '', urls: ['http://a.example/'] })).toBe('http://a.example/')
    expect(title({ ...crawl, label: '', urls: [] })).toBe(crawl.id)
  })
})

describe('the layout', () => {
  it('escapes every value once, also in lists, and leaves HTML of its own alone', () => {
    const inner = html`<b>${'<&>'}</b>`
    expect(html`${inner}${['<', inner, null, [undefined, 7]]}${null}`.text).toBe(
      '<b>&#60;&#38;&#62;</b>&#60;<b>&#60;&#38;&#62;</b>7',
    )
    expect(html`<a href="${`"'`}">`.text).toBe('<a href="&#34;&#39;">')
    expect(page('<', html`x`)).toContain('<title>&#60;</title>')
  })

  it('encodes paths step by step', () => {
    expect(href('../a b/ä#?%.html')).toBe('../a%20b/%C3%A4%23%3F%25.html')
    expect(href('javascript:alert(1)')).toBe('javascript%3Aalert(1)')
  })

  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [1_500_000, '1.5 MB'],
    [2e15, '2000.0 TB'],
  ])('writes %d bytes as %s', (bytes, text) => {
    expect(sizeText(bytes)).toBe(text)
  })

  it('writes times in UTC, and none as nothing', () => {
    expect(when(ADDED)).toBe('2026-02-03 04:05 UTC')
    expect(when(null)).toBe('')
  })
})
