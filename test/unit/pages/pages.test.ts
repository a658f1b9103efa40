import { Parser } from 'htmlparser2'
import { describe, expect, it } from 'vitest'
import { isVisible, sizeText, when } from '../../../src/base/words.ts'
import type { ResultStatus } from '../../../src/db/tables.ts'
import { archivePage } from '../../../src/pages/archive-page.ts'
import { copiesText } from '../../../src/pages/copies.ts'
import { crawlPage } from '../../../src/pages/crawl-page.ts'
import { html } from '../../../src/pages/html.ts'
import { chunkLine, chunkText, parseChunk } from '../../../src/pages/index-chunk.ts'
import { data } from '../../../src/pages/layout.ts'
import { href } from '../../../src/pages/links.ts'
import type { ArchivePage } from '../../../src/pages/model/archive.ts'
import type { CrawlPage } from '../../../src/pages/model/crawl.ts'
import { crawlName } from '../../../src/pages/model/crawl-name.ts'
import type { IndexEntry } from '../../../src/pages/model/index-entry.ts'
import { bestOf, cardsOf, type Output, outputsOf as outputsBy } from '../../../src/pages/model/outputs.ts'
import type { SnapshotPage } from '../../../src/pages/model/snapshot.ts'
import { onDisk } from '../../../src/pages/on-disk.ts'
import { snapshotPage } from '../../../src/pages/snapshot-page.ts'
import { meaningsOf } from '../../support/meanings.ts'

const MEANINGS = meaningsOf('mercury', 'defuddle', 'trafilatura', 'media', 'gallerydl', 'youtubedl', 'forumdl')
const outputsOf = (made: Parameters<typeof outputsBy>[0]) => outputsBy(made, MEANINGS)

const EVIL = `</title></style><script>alert(1)</script><img src=x onerror=alert(2)>"'&amp;<!--\u202e\u200b`
const EVIL_FILE = `a b/#?%41"'><script>alert(3)</script>&amp;.html`
const ADDED = new Date('2026-02-03T04:05:06Z')
const result = { attempt: 1, startedAt: ADDED, endedAt: new Date(ADDED.getTime() + 500), logs: {} }

const RESULTS: SnapshotPage['results'] = [
  {
    ...result,
    plugin: 'wget',
    hookName: EVIL,
    status: 'succeeded',
    output: EVIL,
    files: {
      [EVIL_FILE]: { size: 5, mimetype: 'text/html' },
      [`${EVIL_FILE}.png`]: { size: 7, mimetype: 'image/png' },
    },
    logs: { output: '.logs/wget/x.1.stdout.log' },
  },
  { ...result, plugin: EVIL, hookName: 'on_Snapshot__99_x.sh', status: 'failed', output: EVIL, files: {} },
  { ...result, plugin: EVIL, hookName: 'on_Snapshot__99_x.sh', attempt: 2, status: 'failed', output: '', files: {} },
]

const snapshot: SnapshotPage = {
  id: '0199-id',
  url: `http://example.com/?q=%22%3E&x=${EVIL}`,
  title: EVIL,
  outcome: 'partial',
  cause: EVIL,
  httpStatus: 200,
  sealedAt: ADDED,
  depth: 1,
  tags: [EVIL],
  notes: EVIL,
  bookmarkedAt: ADDED,
  folder: 'archive/snapshots/20260203/example.com/0199-id',
  crawl: { id: '0199-crawl', folder: 'archive/crawls/20260203/example.com/id', isAway: false },
  urlHash: 'abcd',
  isCopied: true,
  bytesAway: undefined,
  hashes: undefined,
  outputs: outputsOf(RESULTS),
  results: RESULTS,
}

const crawl: CrawlPage = {
  id: '0199-id',
  urls: [snapshot.url],
  urlsTotal: 1,
  firstTitle: null,
  pages: 5_002,
  label: EVIL,
  tags: [EVIL],
  status: 'started',
  message: EVIL,
  maxDepth: 2,
  createdAt: ADDED,
  writtenAt: ADDED,
  counts: { queued: 4_990, started: 2, paused: 0, archived: 7, partial: 1, failed: 2 },
  secondsLeft: 200,
  folder: 'archive/crawls/20260203/example.com/0199-id',
  wacz: undefined,
  chunks: [7, 3, 1],
}

const archive: ArchivePage = {
  crawls: [
    {
      label: EVIL,
      urls: [EVIL],
      urlsTotal: 2,
      firstTitle: EVIL,
      node: '',
      pages: 2,
      status: 'started',
      createdAt: ADDED,
      id: '0199-id',
      folder: 'archive/crawls/a b/#?%41',
      sealed: 1,
      partial: 0,
      failed: 1,
    },
  ],
  totalCrawls: 3,
  totalBytes: 12,
  index: { pages: 1, chunks: [1, 0] },
}

/** On a disk that has none of the files: nothing is packed. */
const shown = ({ thumbnail, ...output }: Output) => ({
  ...output,
  href: href(output.path),
  ...(thumbnail !== undefined && { picture: href(thumbnail) }),
})
const showSnapshot = (changes: Partial<SnapshotPage> = {}) =>
  snapshotPage({ ...snapshot, ...changes }, { ...onDisk('/nowhere', snapshot.folder), shown })
const showCrawl = (changes: Partial<CrawlPage> = {}) =>
  crawlPage({ ...crawl, ...changes }, onDisk('/nowhere', crawl.folder))

const PAGES: Readonly<Record<string, string>> = {
  snapshot: showSnapshot(),
  crawl: showCrawl(),
  archive: archivePage(archive, onDisk('/nowhere', '')),
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
    for (const name of ['style', 'object', 'embed', 'base']) expect(names).not.toContain(name)
    expect(
      elements.flatMap(({ attributes }) => Object.keys(attributes)).filter((name) => name.startsWith('on')),
    ).toEqual([])
    expect(elements.filter(({ name }) => name === 'title')).toHaveLength(1)
    const scripts = elements.filter(({ name, attributes }) => name === 'script' && attributes['type'] === undefined)
    for (const { attributes } of scripts) expect(attributes['src']).toMatch(/^[./a-z0-9-]+\.js$/)
    for (const { attributes } of elements.filter(({ name }) => name === 'iframe'))
      expect(attributes['sandbox']).toBe('allow-same-origin')
  })

  it('loads nothing from elsewhere: it opens from disk, for ever, and gives no address away', () => {
    const { elements } = read(markup)
    for (const { name, attributes } of elements) {
      for (const attribute of ['src', 'srcset', 'background', 'poster', 'data'])
        expect(attributes[attribute] ?? '', `${name} ${attribute}`).not.toMatch(/^\s*([a-z][a-z0-9+.-]*:|\/)/i)
      expect(attributes['style'], name).toBeUndefined()
    }
    const policy = elements.find(({ attributes }) => attributes['http-equiv'] === 'Content-Security-Policy')
    expect(policy?.attributes['content']).toMatch(/^default-src 'none'/)
    expect(policy?.attributes['content']).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe/)
    expect(elements.find(({ attributes }) => attributes['name'] === 'referrer')?.attributes['content']).toBe(
      'no-referrer',
    )
    expect(elements.some(({ attributes }) => attributes['charset'] === 'utf-8')).toBe(true)
  })

  it('links to files by relative paths, each step percent-encoded', () => {
    const local = links(markup).filter((link) => !link.startsWith('http://example.com/') && !link.startsWith('#'))
    expect(local.length).toBeGreaterThan(0)
    for (const link of local) {
      expect(link).not.toMatch(/^(\/|[a-z]+:)/i)
      expect(link).not.toMatch(/[\s"<>#?]/)
      expect(() => decodeURIComponent(link)).not.toThrow()
    }
  })
})

describe('a crawl of which no page is done', () => {
  const none = { queued: 0, started: 0, paused: 0, archived: 0, partial: 0, failed: 0 }
  it.each([
    ['may get some', { status: 'started', pages: 0 }, 'No page is done yet.'],
    ['has none for ever', { status: 'sealed', pages: 0 }, 'It has no pages.'],
    ['ended before', { status: 'sealed', pages: 3 }, 'No page is done.'],
  ] as const)('%s', (_, changes, says) => {
    const { text } = read(showCrawl({ ...changes, counts: none }))
    expect(text.match(/No page is done( yet)?\.|It has no pages\./g)).toEqual([says])
  })
})

const decoded = (markup: string) => links(markup).map((link) => link.split('/').map(decodeURIComponent).join('/'))

describe('the snapshot page', () => {
  it('leads to every plugin’s main file, its folder and its logs, under their true names', () => {
    expect(decoded(PAGES['snapshot']!)).toEqual(
      expect.arrayContaining([
        `wget/${EVIL_FILE}`,
        'wget/',
        '.logs/wget/x.1.stdout.log',
        '../../../../crawls/20260203/example.com/id/index.html',
        '../../../../../index.html',
        '../../../../../archive/urls/ab/cd.js',
      ]),
    )
  })

  it('leads to the part of a hook in the log that it shares with others', () => {
    const shared = {
      ...RESULTS[0]!,
      plugin: 'a',
      hookName: 'on_Snapshot__1-a.js',
      logs: { output: '.logs/hosted.txt' },
    }
    expect(links(showSnapshot({ results: [shared] }))).toContain(
      '.logs/hosted.txt#:~:text=%22hook%22%3A%22a.on_Snapshot__1%2Da.js.1%22',
    )
  })

  it('links to the page itself, which is the only way out', () => {
    const outside = read(PAGES['snapshot']!).elements.filter(({ attributes }) => attributes['href']?.startsWith('http'))
    expect(outside.length).toBeGreaterThan(0)
    for (const { attributes } of outside) expect(attributes).toMatchObject({ href: snapshot.url, rel: 'noreferrer' })
    for (const url of ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd'])
      expect(links(showSnapshot({ url, outputs: [], results: [] })).filter((link) => link.includes(':'))).toEqual([])
  })

  it('says how it went, what failed, what took how long, and which attempt it was', () => {
    const { text } = read(PAGES['snapshot']!)
    for (const word of [
      'Partial',
      'HTTP 200',
      'failed',
      'succeeded',
      '0.50 s',
      '2026-02-03 04:05 UTC',
      '2 files',
      '12 B',
    ])
      expect(text).toContain(word)
    expect(text.match(/attempt 2/g)).toHaveLength(1)
    expect(text).toContain('archivebox-ts snapshot retry --failed 0199-id')
  })

  it('begins with the best copy, and says where there is none', () => {
    const { elements } = read(PAGES['snapshot']!)
    const current = elements.filter(({ attributes }) => attributes['aria-current'] !== undefined)
    expect(current.map(({ attributes }) => decodeURIComponent(attributes['href']!))).toEqual([`wget/${EVIL_FILE}`])
    const bare = read(showSnapshot({ outputs: [], results: [], outcome: 'failed', cause: 'connection refused' }))
    expect(bare.elements.filter(({ name }) => name === 'iframe')).toEqual([])
    expect(bare.text).toContain('No copy of this page is here')
    expect(bare.text).toContain('connection refused')
  })

  it('falls back to the URL where nobody could see the title', () => {
    for (const title of [null, '', '\u200b\u202e \u2800'])
      expect(showSnapshot({ title, url: 'http://plain.example/' })).toContain(
        '<h1><bdi>http://plain.example/</bdi></h1>',
      )
  })
})

describe('the page of a snapshot', () => {
  it('took as long as its last attempt, however long ago the first one was', () => {
    const before = { ...result, plugin: 'html', hookName: 'a', status: 'failed' as const, output: '', files: {} }
    const later = new Date(ADDED.getTime() + 86_400_000)
    const again = { ...before, attempt: 2, startedAt: later, endedAt: new Date(later.getTime() + 1_500) }
    expect(showSnapshot({ results: [before, again] })).toContain('<dt>It took</dt><dd>1.50 s</dd>')
    expect(showSnapshot({ outcome: 'failed' })).toContain('<dt>Tried</dt>')
  })
})

describe('what was made of a page', () => {
  const file = (mimetype: string) => ({ size: 1, mimetype })
  const made = (
    plugin: string,
    output: string,
    files: Record<string, string>,
    status = 'succeeded' as ResultStatus,
  ) => ({
    plugin,
    status,
    output,
    files: Object.fromEntries(Object.entries(files).map(([path, type]) => [path, file(type)])),
  })

  it('comes best first, each in its group, by its main file', () => {
    const outputs = outputsOf([
      made('headers', 'headers/headers.json', { 'headers.json': 'application/json' }),
      made('readability', '', {
        'content.html': 'text/html',
        'content.txt': 'text/plain',
        'article.json': 'application/json',
      }),
      made('html', 'html/output.html', { 'output.html': 'text/html' }),
      made('screenshot', 'screenshot/screenshot.png', { 'screenshot.png': 'image/png' }),
      made('pdf', '', { 'output.pdf': 'application/pdf' }),
      made('singlefile', '', { 'singlefile.html': 'text/html; charset=utf-8' }),
      made('warc', '', { 'x.warc.gz': 'application/gzip' }),
      made('mine', 'mine/b.mp4', { 'a.txt': 'text/plain', 'b.mp4': 'video/mp4' }),
      made('wget', 'wget/site/a.html', { 'site/style.css': 'text/css', 'site/a.html': 'text/html' }),
    ])
    expect(outputs.map(({ group, path, shown }) => `${group} ${path} ${shown}`)).toEqual([
      'page singlefile/singlefile.html html',
      'picture pdf/output.pdf pdf',
      'picture screenshot/screenshot.png image',
      'page wget/site/a.html html',
      'page html/output.html html',
      'text readability/content.html html',
      'data headers/headers.json text',
      'media mine/b.mp4 video',
      'data warc/x.warc.gz file',
    ])
    expect(bestOf(outputs)?.plugin).toBe('singlefile')
    expect(bestOf(outputs.filter(({ group }) => group === 'data'))).toBeUndefined()
  })

  it('is the file itself where the URL is one, whatever it is', () => {
    const served = (type: string, name: string) =>
      bestOf(
        outputsOf([
          made('favicon', '', { 'favicon.ico': 'image/x-icon' }),
          made('pdftext', '', { 'content.txt': 'text/plain' }),
          made('staticfile', `staticfile/${name}`, { [name]: type }),
        ]),
      )
    expect(served('application/pdf', 'a.pdf')).toMatchObject({ plugin: 'staticfile', shown: 'pdf' })
    expect(served('text/plain', 'a.txt')).toMatchObject({ plugin: 'staticfile', shown: 'text' })
    const [zip] = outputsOf([made('staticfile', 'staticfile/a.zip', { 'a.zip': 'application/zip' })])
    expect(bestOf([zip!])).toMatchObject({ plugin: 'staticfile', shown: 'file' })
    expect(showSnapshot({ outputs: [zip!] })).toContain('href="staticfile/a.zip" download')
  })

  it.each([
    ['text/html', 'a.txt', 'html'],
    ['text/plain', 'a.xhtml', 'html'],
    ['application/pdf', 'a.html', 'html'],
    ['application/pdf', 'a.svg', 'source'],
    ['application/pdf', 'a.xml', 'source'],
    ['application/pdf', 'a.mhtml', 'file'],
    ['text/plain', 'a.rss', 'source'],
    ['application/atom+xml', 'a', 'source'],
    ['image/svg+xml', 'a.svg', 'image'],
    ['image/svg+xml', 'a.xml', 'source'],
    ['image/png', 'a.svg', 'source'],
  ])('is never a document outside of our policy: %s named %s is shown as %s', (type, name, shown) => {
    expect(outputsOf([made('staticfile', `staticfile/${name}`, { [name]: type })])).toMatchObject([{ shown }])
  })

  it('is no document in a frame when it is a drawing', () => {
    const [drawing] = outputsOf([made('staticfile', 'staticfile/a.svg', { 'a.svg': 'image/svg+xml' })])
    const page = showSnapshot({ outputs: [drawing!] })
    expect(page).toContain('<div class="copy image" id="copy"><img src="staticfile/a.svg"')
    expect(page).not.toContain('<iframe')
  })

  it('is shown by pictures of what people look for, and by names of the rest, however many there are', () => {
    const html = { 'output.html': 'text/html' }
    const many = Array.from({ length: 200 }, (_, at) => made(`mine${at}`, '', { 'a.png': 'image/png' }))
    const outputs = outputsOf([
      made('dom', '', html),
      made('singlefile', '', { 'singlefile.html': 'text/html' }),
      made('screenshot', '', { 'screenshot.png': 'image/png', 'thumbnail.webp': 'image/webp' }),
      made('readability', '', { 'content.html': 'text/html' }),
      made('markdown', '', { 'content.md': 'text/markdown' }),
      made('wacz', '', { 'page.wacz': 'application/wacz' }),
    ])
    expect(cardsOf(outputs).map(({ plugin }) => plugin)).toEqual(['singlefile', 'screenshot', 'readability', 'wacz'])
    const page = read(showSnapshot({ outputs: [...outputs, ...outputsOf(many)] }))
    const shown = (kind: string) =>
      page.elements.filter(({ attributes }) => attributes['class']?.split(' ')[0] === kind).length
    expect([shown('card'), shown('chip')]).toEqual([6, 42]) // One is a tag, one is of a hook that failed.
    expect(page.text).toContain('160 more')
    const pictures = page.elements.flatMap(({ name, attributes }) => (name === 'img' ? attributes['src']! : []))
    expect(pictures).toContain('screenshot/thumbnail.webp')
    expect(pictures).not.toContain('screenshot/screenshot.png')
  })

  it('says what is only a part, what is an error page, and what is missing', () => {
    const row = { ...result, hookName: 'x', output: 'it said why' }
    const outputs = outputsOf([
      made('html', '', { 'error.html': 'text/html' }, 'failed'),
      made('wget', '', { 'a.html': 'text/html' }, 'failed'),
      made('staticfile', '', { 'error-a.pdf.txt': 'text/plain' }, 'failed'),
      made('dom', '', { 'output.html': 'text/html' }),
    ])
    const results: SnapshotPage['results'] = [
      { ...row, plugin: 'html', status: 'failed', files: {} },
      { ...row, plugin: 'pdf', hookName: 'p', status: 'failed', files: {} },
      { ...row, plugin: 'screenshot', hookName: 's', status: 'failed', files: {} },
      { ...row, plugin: 'screenshot', hookName: 's', attempt: 2, status: 'succeeded', files: {} },
      { ...row, plugin: 'mhtml', hookName: 'm', status: 'skipped', output: 'needs html, which failed', files: {} },
      { ...row, plugin: 'ytdlp', hookName: 'y', status: 'noresults', files: {} },
    ]
    const { text, elements } = read(showSnapshot({ outputs, results }))
    const labels = elements.filter(({ attributes }) => attributes['class'] === 'badge partial').length
    expect(labels).toBe(5) // Three of copies, two of the page.
    expect(text.match(/(?:html|staticfile) error\b/g)).toHaveLength(2)
    for (const word of ['part', 'pdf failed', '2 hooks had nothing to do']) expect(text).toContain(word)
    for (const word of ['html failed', 'screenshot failed', 'mhtml failed']) expect(text).not.toContain(word)
  })

  it('is one thing where several hooks of a plugin made it', () => {
    const outputs = outputsOf([
      made('html', '', { 'a.txt': 'text/plain' }),
      made('html', 'html/output.html', { 'output.html': 'text/html' }),
    ])
    expect(outputs).toMatchObject([{ plugin: 'html', path: 'html/output.html', files: 2, size: 2 }])
  })

  it('is no part when a hook has failed that did not make it', () => {
    const outputs = outputsOf([
      made('html', 'html/output.html', { 'output.html': 'text/html' }),
      made('html', 'HTTP 503', { 'error.html': 'text/html' }, 'failed'),
      made('wget', 'wget/constructor', { 'a.html': 'text/html' }, 'failed'),
    ])
    expect(outputs.map(({ path, isPart }) => [path, isPart])).toEqual([
      ['wget/a.html', true],
      ['html/output.html', false],
    ])
  })
})

describe('the page of a crawl', () => {
  it('says how it stands, loads the latest chunks itself, and names the others', () => {
    const { text } = read(PAGES['crawl']!)
    for (const word of [
      'Running',
      '10',
      'of 5,002 pages',
      '2 in work',
      '4,990 waiting',
      'about 3.3 min left',
      'crawl retry --failed 0199-id',
    ])
      expect(text).toContain(word)
    expect(links(PAGES['crawl']!).filter((link) => link.includes('/archive/index/'))).toEqual([
      '../../../../../archive/index/7.js',
      '../../../../../archive/index/3.js',
    ])
    expect(text).toContain('"chunks":[7,3,1]')
    expect(text).toContain('"live":true')
    // The script shows it when nothing was written for long.
    expect(PAGES['crawl']).toContain('<p id="quiet" hidden>')
    expect(showCrawl({ status: 'sealed' })).not.toContain('id="quiet"')
    expect(showCrawl({ wacz: 'wacz/crawl.wacz' })).toContain('<a href="wacz/crawl.wacz" download>')
  })

  it.each<[string, Partial<CrawlPage>, string]>([
    ['its label', { label: 'News' }, 'News'],
    ['the title of its one page', { label: '\u200b', firstTitle: 'A title' }, 'A title'],
    ['where its one page is', { label: '', urls: ['https://a.example/b/'] }, 'a.example/b'],
    [
      'its host',
      { label: '', urls: ['http://a.example/', 'http://a.example/2'], urlsTotal: 2 },
      'a.example · 801 pages',
    ],
    [
      'its hosts',
      { label: '', urls: ['http://a/', 'http://b/', 'http://c/'], urlsTotal: 3 },
      'a and 2 others · 801 pages',
    ],
    [
      'hosts that are not all known',
      { label: '', urls: ['http://a/', 'http://b/'], urlsTotal: 9 },
      'a and many others · 801 pages',
    ],
    ['nothing', { label: '', urls: [] }, 'no page'],
  ])('is named by %s', (_what, about, name) => {
    const pages = name.includes('801') ? 801 : 1
    expect(crawlName({ ...crawl, pages, ...about })).toBe(name)
  })
})

describe('the page of the archive', () => {
  it('says how much there is, and how its crawls went', () => {
    const { text } = read(PAGES['archive']!)
    for (const word of ['1 page', '3 crawls', '12 B', '1 of 2', '1 failed']) expect(text).toContain(word)
  })
})

describe('a chunk of the index', () => {
  const entry: IndexEntry = {
    number: 41,
    node: '',
    crawlId: 'c',
    sealedAt: ADDED,
    outcome: 'partial',
    tags: ['a\tb', 'c\u001fd'],
    cause: 'HTTP 500\n',
    httpStatus: 500,
    path: 'archive/x',
    icon: '',
    picture: '',
    size: 7,
    url: 'http://x/',
    title: `a\nb\tc\u2028d\u0000e ${EVIL}`,
    text: 'half \ud83d of it',
  }

  it('is a script with one text, a line for each page, whatever is in its fields', () => {
    const text = chunkText(0, new Map([[41, chunkLine(entry)]]))
    const heard: [number, string][] = []
    new Function('pages', text)((chunk: number, lines: string) => heard.push([chunk, lines]))
    const [[chunk, lines]] = heard as [[number, string]]
    expect(chunk).toBe(0)
    expect(lines.split('\n')).toHaveLength(1)
    const fields = lines.split('\t')
    expect(fields).toHaveLength(14)
    expect(fields[4]!.split('\u001f')).toEqual(['a b', 'c d'])
    expect(fields[12]).toContain('a b c d e')
    expect(fields[13]).toBe('half \ufffd of it')
  })

  it('is read back as it was written, in the order of its numbers', () => {
    const lines = new Map([5, 2, 9].map((number) => [number, chunkLine({ ...entry, number })]))
    const back = parseChunk(chunkText(0, lines))
    expect([...back.keys()]).toEqual([2, 5, 9])
    expect(Object.fromEntries(back)).toEqual(Object.fromEntries(lines))
  })

  it('is damaged when it is not whole', () => {
    const text = chunkText(0, new Map([[1, 'x']]))
    for (const broken of ['', text.slice(0, -3), text.slice(1)]) expect(() => parseChunk(broken)).toThrow('damaged')
  })

  it('has the copies of a URL in the same way', () => {
    const heard: unknown[] = []
    new Function('copies', copiesText([{ sealedAt: ADDED, outcome: 'archived', path: 'archive/x', node: '' }]))(
      (list: unknown) => heard.push(list),
    )
    expect(heard).toEqual([[[ADDED.toISOString(), 'archived', 'archive/x']]])
  })
})

describe('the layout', () => {
  it('escapes every value once, also in lists, and leaves HTML of its own alone', () => {
    const inner = html`<b>${'<&>'}</b>`
    expect(html`${inner}${['<', inner, null, [undefined, 7]]}${null}`.text).toBe(
      '<b>&#60;&#38;&#62;</b>&#60;<b>&#60;&#38;&#62;</b>7',
    )
    expect(html`<a href="${`"'`}">`.text).toBe('<a href="&#34;&#39;">')
  })

  it('gives data to the script that nothing in it can end', () => {
    const list = { top: '</script><!--&', chunks: [], total: 0 }
    const { text } = data(list)
    expect(text.slice(text.indexOf('{'), text.indexOf('}'))).not.toMatch(/[<>&]/)
    expect(JSON.parse(text.slice(text.indexOf('{'), text.indexOf('}') + 1))).toEqual(list)
  })

  it('knows what can be seen', () => {
    for (const text of ['a', ' ü', '😀', '7']) expect(isVisible(text), text).toBe(true)
    for (const text of ['', ' \t', '\u200b\ufeff', '\u202e', '\u001b']) expect(isVisible(text), text).toBe(false)
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

it('a row that names files outside the folder of its page, as one of a foreign backup may, names no output', () => {
  const size = { size: 5, mimetype: 'text/html' }
  const made = (plugin: string, ...files: string[]) => ({
    ...{ plugin, status: 'succeeded' as const, output: '' },
    files: Object.fromEntries(files.map((file) => [file, size])),
  })
  const named = [made('html', '../../../../.ssh/id_rsa', '/etc/passwd', 'a/../../b'), made('..', 'output.html')]
  expect(outputsOf([...named, made('../x', 'y'), made('', 'z')])).toEqual([])
  expect(outputsOf([made('dom', '../evil', 'output.html')])).toMatchObject([{ path: 'dom/output.html', files: 1 }])
})
