import { createHash } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { HookModule, HookResult } from '../../src/plugins/base/hook.ts'
import favicon from '../../src/plugins/favicon/on_Snapshot__25_favicon.ts'
import hashes from '../../src/plugins/hashes/on_Snapshot__93_hashes.ts'
import headers from '../../src/plugins/headers/on_Snapshot__10_headers.ts'
import html from '../../src/plugins/html/on_Snapshot__20_html.ts'
import parseHtmlUrls from '../../src/plugins/parse_html_urls/on_Snapshot__70_parse_html_urls.ts'
import readability from '../../src/plugins/readability/on_Snapshot__56_readability.ts'
import staticfile from '../../src/plugins/staticfile/on_Snapshot__15_staticfile.ts'
import title from '../../src/plugins/title/on_Snapshot__54_title.ts'
import wget from '../../src/plugins/wget/on_Snapshot__35_wget.ts'
import { withPrograms } from '../support/bare-path.ts'
import { asset, bytes, pages, RUSSIAN, type Site, startSite } from '../support/site.ts'

const HOOKS: Readonly<Record<string, HookModule>> = {
  headers,
  staticfile,
  html,
  favicon,
  wget,
  title,
  readability,
  parse_html_urls: parseHtmlUrls,
  hashes,
}
const WGET = withPrograms('wget')
const DEAD = 'http://127.0.0.1:1/'

let site: Site
let snapshot: string

beforeAll(async () => {
  site = await startSite({
    ...pages(3),
    '/bare.html': '<title>Bare</title><p>No icon here.',
    '/icon.html': '<link rel="icon" href="/icon.svg"><title>Icon</title>',
    '/icon.svg': bytes('image/svg+xml', asset('lighthouse.svg')),
    '/data-icon.html': `<link rel="icon" href="data:image/png;base64,${asset('dusk.png').toString('base64')}">`,
    '/soft-404.html': '<link rel="icon" href="/soft-404.ico">',
    '/soft-404.ico': bytes('image/x-icon', '<!doctype html><title>Not found</title>'),
    '/links.html': Array.from({ length: 10_000 }, (_, i) => `<a href="/link-${i}">${i}</a>`).join('\n'),
    '/deep.html': '<div>'.repeat(100_000),
    '/nul.html': '<title>N\0UL</title><p>\0</p><a href="/a\0b">x</a>',
    '/attachment.html': bytes('text/html', '<title>A file</title>', {
      'content-disposition': 'attachment; filename="saved page.html"',
    }),
    '/stream.bin': (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' })
      const timer = setInterval(() => response.write(Buffer.alloc(100_000)), 1)
      response.on('close', () => clearInterval(timer))
    },
    '/half.bin': (request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': 10_000 })
      response.write(Buffer.alloc(100), () => request.socket.resetAndDestroy())
    },
    '/half.gz': (request, response) => {
      response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip', 'content-length': 10_000 })
      response.write(gzipSync('<title>Half</title>').subarray(0, 20), () => request.socket.resetAndDestroy())
    },
    '/odd-headers': (_request, response) => {
      response
        .writeHead(200, [
          'Content-Type',
          'text/html',
          'Set-Cookie',
          'a=1',
          'Set-Cookie',
          'b=2',
          'X-Two',
          '1',
          'x-two',
          '2',
          '__proto__',
          'x',
        ])
        .end()
    },
  })
})
afterAll(() => site.close())

beforeEach(() => {
  snapshot = mkdtempSync(join(tmpdir(), 'plugins-run-'))
})
afterEach(() => rmSync(snapshot, { recursive: true, force: true }))

interface Ran extends HookResult {
  readonly records: readonly Record<string, unknown>[]
}

/** Runs one hook in the snapshot directory of this test, as the warm host does. */
async function run(
  plugin: string,
  url: string,
  env: Record<string, string> = {},
  signal = new AbortController().signal,
): Promise<Ran> {
  const outputDir = join(snapshot, plugin)
  mkdirSync(outputDir, { recursive: true })
  const records: Record<string, unknown>[] = []
  const context = {
    url,
    outputDir,
    env: { PATH: process.env['PATH'], TIMEOUT: '20', ...env },
    signal,
    emit: (record: object) => records.push({ ...record }),
    log: () => {},
  }
  return { ...(await HOOKS[plugin]!.run(context)), records }
}

const at = (path: string) => site.url + path
const read = (path: string) => readFileSync(join(snapshot, path), 'utf8')
const json = (path: string) => JSON.parse(read(path)) as Record<string, unknown>
const files = (dir = snapshot) =>
  (readdirSync(dir, { recursive: true }) as string[]).filter((path) => statSync(join(dir, path)).isFile()).sort()

describe('the hooks, one after another on a page', () => {
  it('write what they promise, with one request each for headers, page and icon', async () => {
    const before = [site.hits('/page-2.html'), site.hits('/favicon.ico')]
    const results: Record<string, string> = {}
    for (const plugin of Object.keys(HOOKS)) {
      if (plugin === 'wget') continue
      const result = await run(plugin, at('/page-2.html'), { EXTRA_CONTEXT: '{"snapshot_depth":1}' })
      results[plugin] = `${result.status}: ${result.output}`
    }
    expect(results).toEqual({
      headers: 'succeeded: headers/headers.json',
      staticfile: 'noresults: text/html',
      html: 'succeeded: html/output.html',
      favicon: 'succeeded: favicon/favicon.ico',
      title: 'succeeded: Page 2',
      readability: 'succeeded: readability/content.html',
      parse_html_urls: 'succeeded: 3 URLs parsed',
      hashes: expect.stringMatching(/^succeeded: 8 files, [\d.]+ kB, [0-9a-f]{12}$/) as string,
    })
    expect([site.hits('/page-2.html'), site.hits('/favicon.ico')]).toEqual([before[0]! + 2, before[1]! + 1])
    expect(files()).toEqual([
      'favicon/favicon.ico',
      'hashes/hashes.json',
      'headers/headers.json',
      'html/output.html',
      'parse_html_urls/urls.jsonl',
      'readability/article.json',
      'readability/content.html',
      'readability/content.txt',
      'title/title.txt',
    ])
    expect(read('title/title.txt')).toBe('Page 2')
    expect(read('readability/content.txt')).toContain('The ferry leaves the harbour at seven')
    expect(read('readability/content.html')).toContain(`src="${at('/picture.png')}"`)
    expect(json('readability/article.json')).toMatchObject({
      title: 'Page 2',
      lang: 'en',
      excerpt: 'Page 2 of a test site',
    })
  })

  it('leave a file to staticfile, which asks for it once', async () => {
    await run('headers', at('/document.pdf'))
    expect(await run('staticfile', at('/document.pdf'))).toMatchObject({
      status: 'succeeded',
      output: 'staticfile/document.pdf',
    })
    expect(readFileSync(join(snapshot, 'staticfile/document.pdf')).equals(asset('checklist.pdf'))).toBe(true)
    const before = site.hits('/document.pdf')
    for (const plugin of ['html', 'wget', 'title', 'readability', 'parse_html_urls']) {
      expect(await run(plugin, at('/document.pdf'))).toMatchObject({
        status: 'noresults',
        output: expect.stringContaining('staticfile/document.pdf') as string,
      })
    }
    expect(site.hits('/document.pdf')).toBe(before)
    // The icon of the site is worth having, also for a file.
    expect(await run('favicon', at('/document.pdf'))).toMatchObject({ status: 'succeeded' })
  })

  it('do not ask again for a page that could not be had', async () => {
    for (const plugin of ['headers', 'html']) await run(plugin, at('/hangs'), { TIMEOUT: '0.3' })
    const before = site.hits('/hangs')
    for (const plugin of ['staticfile', 'favicon', 'title', 'readability', 'parse_html_urls']) {
      expect(await run(plugin, at('/hangs'))).toMatchObject({
        status: 'skipped',
        output: `needs ${plugin === 'staticfile' ? 'headers' : 'html'}, which failed`,
      })
    }
    expect(site.hits('/hangs')).toBe(before)
  })

  it('keep nothing from one run to the next, also when runs overlap', async () => {
    const outputs = await Promise.all(
      ['/page-1.html', '/charset-declared', '/page-3.html', '/redirect-cookie'].map(async (path, i) => {
        const outputDir = join(snapshot, String(i))
        mkdirSync(outputDir)
        return title.run({
          url: at(path),
          outputDir,
          env: {},
          signal: new AbortController().signal,
          emit() {},
          log() {},
        })
      }),
    )
    expect(outputs.map((result) => result.output)).toEqual(['Page 1', RUSSIAN, 'Page 3', 'Cookie'])
    // A jar that outlived its chain would have spared this redirect.
    const before = site.hits('/redirect-cookie')
    await run('html', at('/redirect-cookie'))
    expect(site.hits('/redirect-cookie')).toBe(before + 2)
  })
})

describe('every hook that asks the network', () => {
  const reasons: readonly (readonly [string, string, string | RegExp])[] = [
    ['a dead port', DEAD, 'connection refused by 127.0.0.1:1'],
    [
      'a host that does not exist',
      'http://no-such-host.invalid/',
      /^(host not found: no-such-host\.invalid|name lookup failed for no-such-host\.invalid)/,
    ],
    ['no URL at all', 'http://', 'not a valid URL: http://'],
    ['a bad port', 'http://127.0.0.1:99999/', 'not a valid URL: http://127.0.0.1:99999/'],
    ['a reset', '/reset', /^connection reset by 127\.0\.0\.1:\d+$/],
    ['another protocol', '/not-http', /^127\.0\.0\.1:\d+ does not answer in HTTP \(HPE_\w+\)$/],
    ['TLS where there is none', 'https', /^TLS problem with 127\.0\.0\.1:\d+: .+/],
    ['a redirect loop', '/redirect-loop', /^redirect loop after 2 redirects/],
    ['endless redirects', '/redirect-for-ever', 'more than 20 redirects'],
    ['a redirect to another scheme', '/redirect-ftp', 'redirected to an unsupported scheme: ftp:'],
    ['a redirect into the void', '/redirect-dead', 'connection refused by 127.0.0.1:1'],
    ['silence', '/hangs', 'timed out after 0.3 s'],
  ]
  it.each(reasons)('fails with a reason at %s', async (_name, target, reason) => {
    const url = target === 'https' ? site.url.replace('http:', 'https:') : target.startsWith('/') ? at(target) : target
    for (const plugin of ['headers', 'html', 'title']) {
      // Each in a snapshot of its own: nothing to read from the others.
      rmSync(snapshot, { recursive: true, force: true })
      const result = await run(plugin, url, { TIMEOUT: target === '/hangs' ? '0.3' : '20' })
      expect(result.status, plugin).toBe('failed')
      if (typeof reason === 'string') expect(result.output, plugin).toBe(reason)
      else expect(result.output, plugin).toMatch(reason)
      expect(files()).toEqual([])
    }
  })

  it('says noresults to what is not http, and skipped when it is switched off', async () => {
    for (const plugin of Object.keys(HOOKS)) {
      if (plugin !== 'hashes')
        expect(await run(plugin, 'archivebox://internal')).toMatchObject({
          status: 'noresults',
          output: 'unsupported input URL',
        })
      const name = `${plugin.toUpperCase()}_ENABLED`
      expect(await run(plugin, at('/'), { [name]: 'False' })).toMatchObject({
        status: 'skipped',
        output: `${name}=False`,
      })
    }
  })

  it('stops when it is told to, and says so', async () => {
    const controller = new AbortController()
    const running = run('html', at('/slow'), {}, controller.signal)
    await expect.poll(() => site.hits('/slow')).toBeGreaterThan(0)
    controller.abort()
    expect(await running).toMatchObject({ status: 'failed', output: 'stopped before it was done' })
    expect(await run('html', at('/'), {}, AbortSignal.abort())).toMatchObject({
      status: 'failed',
      output: 'stopped before it was done',
    })
    expect(files()).toEqual([])
  })

  it('names the setting that makes no sense', async () => {
    expect(await run('html', at('/'), { HTML_TIMEOUT: 'soon' })).toMatchObject({
      status: 'failed',
      output: 'HTML_TIMEOUT is not a number of seconds: soon',
    })
    expect(await run('html', at('/'), { HTML_MAX_SIZE: 'big' })).toMatchObject({
      status: 'failed',
      output: 'HTML_MAX_SIZE is not a size: big',
    })
  })
})

describe('headers', () => {
  it('holds the chain, the answer and what was asked', async () => {
    await run('headers', at('/redirect-2'))
    expect(json('headers/headers.json')).toMatchObject({
      url: at('/redirect-2'),
      final_url: at('/'),
      status: 200,
      statusText: 'OK',
      redirects: [
        { url: at('/redirect-2'), status: 302, headers: { location: '/redirect-1' } },
        { url: at('/redirect-1'), status: 302, headers: { location: '/' } },
      ],
      headers: { 'content-type': 'text/html; charset=utf-8' },
      request_headers: { 'user-agent': expect.stringContaining('archivebox-ts') as string },
    })
  })

  it('keeps an HTTP error and never waits for a body', async () => {
    expect(await run('headers', at('/status-500'))).toMatchObject({ status: 'succeeded' })
    expect(json('headers/headers.json')).toMatchObject({ status: 500, statusText: 'Internal Server Error' })
    for (const path of ['/never-ends', '/slow', '/reset-body'])
      expect(await run('headers', at(path))).toMatchObject({ status: 'succeeded' })
  })

  it('joins repeated headers as browsers do, and takes any name', async () => {
    await run('headers', at('/odd-headers'), { USER_AGENT: 'somebody' })
    const record = JSON.parse(read('headers/headers.json'), (key, value: unknown) =>
      key === '__proto__' ? 'checked below' : value,
    ) as object
    expect(record).toMatchObject({
      headers: { 'set-cookie': 'a=1\nb=2', 'x-two': '1, 2' },
      request_headers: { 'user-agent': 'somebody' },
    })
    expect(read('headers/headers.json')).toContain('"__proto__": "x"')
  })
})

describe('html', () => {
  const output = () => readFileSync(join(snapshot, 'html/output.html'))

  it('keeps the bytes as they were served', async () => {
    expect(await run('html', at('/page-1.html'))).toMatchObject({ status: 'succeeded', output: 'html/output.html' })
    const served = Buffer.from(await (await fetch(at('/page-1.html'))).arrayBuffer())
    expect(output().equals(served)).toBe(true)
  })

  it.each([
    '/charset-declared',
    '/charset-wrong',
    '/charset-meta',
    '/charset-none',
    '/charset-weird',
    '/charset-utf16',
  ])('has the right characters: %s', async (path) => {
    await run('html', at(path))
    expect(await run('title', at(path))).toMatchObject({ status: 'succeeded', output: RUSSIAN })
    expect(read('title/title.txt')).toBe(RUSSIAN)
  })

  it.each(['/gzip', '/brotli'])('unpacks %s', async (path) => {
    await run('html', at(path))
    expect(output().toString()).toContain('<p>packed</p>')
  })

  it.each([
    ['/100mb', 'larger than 1 MB (HTML_MAX_SIZE)'],
    ['/100mb-declared', 'larger than 1 MB (HTML_MAX_SIZE)'],
    ['/never-ends', 'larger than 1 MB (HTML_MAX_SIZE)'],
    ['/bomb.gz', 'larger than 1 MB (HTML_MAX_SIZE)'],
    ['/slow', 'timed out after 0.5 s'],
    ['/reset-body', 'before the end of the body'],
    ['/half.gz', 'before the end of the body'],
    ['/gzip-broken', 'damaged compressed body'],
  ])('fails at %s: %s, and leaves nothing behind', async (path, reason) => {
    const env = { HTML_MAX_SIZE: '1mb', HTML_TIMEOUT: path === '/slow' ? '0.5' : '20' }
    expect(await run('html', at(path), env)).toMatchObject({
      status: 'failed',
      output: expect.stringContaining(reason) as string,
    })
    expect(files()).toEqual([])
  })

  it.each([
    [404, 'HTTP 404 Not Found'],
    [500, 'HTTP 500 Internal Server Error'],
  ])('keeps what is served with HTTP %i, under a name of its own', async (http_status, output) => {
    const served = 'html/error.html'
    expect(await run('html', at(`/status-${http_status}`))).toMatchObject({
      status: 'failed',
      output,
      json: { served, http_status },
    })
    expect(files()).toEqual([served])
    expect(await run('title', at(`/status-${http_status}`))).toMatchObject({ output: 'needs html, which failed' })
    await run('html', at('/page-1.html'))
    expect(files()).toEqual(['html/output.html'])
  })

  it('finds nothing in an empty page, and in what is no page', async () => {
    const nothing = { status: 'noresults', output: 'an empty answer (HTTP 200 OK)' }
    expect(await run('html', at('/empty'))).toMatchObject(nothing)
    expect(files()).toEqual([])
    expect(await run('html', at('/no-type'))).toMatchObject({ status: 'succeeded' })
    expect(await run('html', at('/photo.png'))).toMatchObject({ status: 'noresults', output: 'not HTML but image/png' })
  })

  it('overwrites what an earlier run left, and keeps it when the new run fails', async () => {
    await run('html', at('/page-1.html'))
    await run('html', at('/page-2.html'))
    expect(await run('html', at('/status-404'))).toMatchObject({ status: 'failed' })
    expect(output().toString()).toContain('<title>Page 2</title>')
  })
})

describe('staticfile', () => {
  it.each([
    ['/photo.png', 'staticfile/photo.png'],
    ['/notes.txt', 'staticfile/notes.txt'],
    ['/escape', 'staticfile/escape.pdf'],
    ['/attachment.html', 'staticfile/saved_page.html'],
  ])('saves %s as %s, with or without headers.json', async (path, output) => {
    expect(await run('staticfile', at(path))).toMatchObject({ status: 'succeeded', output })
    expect(files()).toEqual([output])
    await run('headers', at(path))
    expect(await run('staticfile', at(path))).toMatchObject({ status: 'succeeded', output })
    expect(files()).toEqual(['headers/headers.json', output])
  })

  it.each(['/page-1.html', '/no-type', '/status-404', '/empty'])('leaves %s to the others', async (path) => {
    expect(await run('staticfile', at(path))).toMatchObject({ status: 'noresults' })
    expect(files()).toEqual([])
  })

  it('leaves nothing behind of what is too large, too slow or broken off', async () => {
    expect(await run('staticfile', at('/stream.bin'), { STATICFILE_MAX_SIZE: '1mb' })).toMatchObject({
      status: 'failed',
      output: 'larger than 1 MB (STATICFILE_MAX_SIZE)',
    })
    expect(await run('staticfile', at('/stream.bin'), { STATICFILE_TIMEOUT: '0.5' })).toMatchObject({
      status: 'failed',
      output: 'timed out after 0.5 s',
    })
    expect(await run('staticfile', at('/half.bin'))).toMatchObject({
      status: 'failed',
      output: expect.stringContaining('before the end') as string,
    })
    expect(files()).toEqual([])
  })
})

describe('favicon', () => {
  it.each([
    ['/icon.html', 'succeeded', 'favicon/favicon.svg'],
    ['/data-icon.html', 'succeeded', 'favicon/favicon.ico'],
    ['/bare.html', 'succeeded', 'favicon/favicon.ico'],
    ['/soft-404.html', 'noresults', 'not an image'],
  ])('of %s: %s, %s', async (path, status, output) => {
    await run('html', at(path))
    expect(await run('favicon', at(path))).toMatchObject({ status, output: expect.stringContaining(output) as string })
  })

  it('is none when the site has none, and fails when the site cannot be asked', async () => {
    const bare = await startSite({ '/': '<title>No icon</title>' })
    try {
      expect(await run('favicon', `${bare.url}/`)).toMatchObject({
        status: 'noresults',
        output: 'no icon: HTTP 404 Not Found',
      })
      expect(bare.hits('/favicon.ico')).toBe(1)
    } finally {
      await bare.close()
    }
    expect(await run('favicon', DEAD)).toMatchObject({ status: 'failed', output: 'connection refused by 127.0.0.1:1' })
  })

  it('replaces an icon of the other kind', async () => {
    await run('html', at('/icon.html'))
    await run('favicon', at('/icon.html'))
    await run('html', at('/bare.html'))
    await run('favicon', at('/bare.html'))
    expect(files(join(snapshot, 'favicon'))).toEqual(['favicon.ico'])
  })
})

describe('parse_html_urls', () => {
  it('emits a Snapshot record for each link, one level deeper, and writes the same to urls.jsonl', async () => {
    await run('headers', at('/redirect-1'))
    await run('html', at('/redirect-1'))
    const { records, output } = await run('parse_html_urls', at('/redirect-1'), {
      EXTRA_CONTEXT: '{"snapshot_depth":2}',
    })
    expect(output).toBe('3 URLs parsed')
    expect(records).toEqual(
      ['/page-1.html', '/page-2.html', '/page-3.html'].map((path) => ({
        type: 'Snapshot',
        url: at(path),
        plugin: 'parse_html_urls',
        depth: 3,
      })),
    )
    expect(
      read('parse_html_urls/urls.jsonl')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(records)
  })

  it('takes ten thousand links, or as many as it may', async () => {
    expect((await run('parse_html_urls', at('/links.html'))).records).toHaveLength(10_000)
    const { records, output } = await run('parse_html_urls', at('/links.html'), { PARSE_HTML_URLS_MAX_URLS: '5' })
    expect([records.length, output]).toEqual([5, '5 URLs parsed (PARSE_HTML_URLS_MAX_URLS)'])
  })

  it('says noresults when there are none', async () => {
    expect(await run('parse_html_urls', at('/bare.html'))).toMatchObject({
      status: 'noresults',
      output: '0 URLs parsed',
    })
  })
})

describe('a hostile page', () => {
  it('ends every hook with a plain outcome', async () => {
    for (const [path, expected] of [
      ['/deep.html', { html: 'succeeded', title: 'noresults', readability: 'noresults', parse_html_urls: 'noresults' }],
      ['/nul.html', { html: 'succeeded', title: 'succeeded', readability: 'succeeded', parse_html_urls: 'succeeded' }],
    ] as const) {
      const results: Record<string, string> = {}
      for (const plugin of Object.keys(expected)) results[plugin] = (await run(plugin, at(path))).status
      expect(results).toEqual(expected)
    }
    expect(read('title/title.txt')).toBe('NUL')
    for (const path of files()) if (!path.startsWith('html/')) expect(read(path), path).not.toMatch(/\0|\\u0000/)
  })
})

describe('hashes', () => {
  it('lists every file of every plugin, follows no symlinks, and leaves out what is not output', async () => {
    for (const dir of ['a', 'b/deep/.well-known', '.attempts', 'hashes'])
      mkdirSync(join(snapshot, dir), { recursive: true })
    writeFileSync(join(snapshot, 'a/one'), 'one')
    writeFileSync(join(snapshot, 'a/large'), Buffer.alloc(5 * 1024 * 1024, 7))
    writeFileSync(join(snapshot, 'b/deep/.well-known/two'), '')
    for (const path of ['.attempts/log', 'index.html', 'hashes/old.json'])
      writeFileSync(join(snapshot, path), 'not output')
    symlinkSync('/etc/passwd', join(snapshot, 'a/link'))
    symlinkSync('/etc', join(snapshot, 'b/dir'))

    expect(await run('hashes', at('/'))).toMatchObject({
      status: 'succeeded',
      output: expect.stringMatching(/^3 files, 5 MB, /) as string,
    })
    const found = json('hashes/hashes.json') as {
      root_hash: string
      files: { path: string; size: number; sha256: string }[]
      metadata: object
    }
    expect(found.files.map((file) => file.path)).toEqual(['a/large', 'a/one', 'b/deep/.well-known/two'])
    for (const { path, size, sha256 } of found.files) {
      const content = readFileSync(join(snapshot, path))
      expect([size, sha256]).toEqual([content.length, createHash('sha256').update(content).digest('hex')])
    }
    expect(found.metadata).toEqual({ file_count: 3, total_size: 5 * 1024 * 1024 + 3 })
  })
})

describe('wget', () => {
  it('is skipped with the command that installs it when it is missing', async () => {
    const install = process.platform === 'darwin' ? 'brew install wget' : 'apt-get install wget'
    expect(await run('wget', at('/'), { PATH: snapshot })).toMatchObject({
      status: 'skipped',
      output: `wget not found: ${install}`,
    })
    expect(await run('wget', at('/'), { WGET_BINARY: '/no/such/wget' })).toMatchObject({ status: 'skipped' })
  })
})

describe.skipIf(WGET.missing)(`wget, when it is there ${WGET.missing || ''}`, () => {
  const PATH = { PATH: WGET.path }

  it('saves the page, its picture and a WARC', async () => {
    const result = await run('wget', at('/page-1.html'), PATH)
    expect(result).toMatchObject({
      status: 'succeeded',
      output: expect.stringMatching(/^wget\/127\.0\.0\.1\+\d+\/page-1\.html$/) as string,
    })
    expect(read(result.output)).toContain('<title>Page 1</title>')
    expect(files().map((path) => path.replace(/\d{4,}/, 'N'))).toEqual([
      'wget/127.0.0.1+N/page-1.html',
      'wget/127.0.0.1+N/page-1.html.orig',
      'wget/127.0.0.1+N/picture.png',
      'wget/warc/N.warc.gz',
    ])
  })

  it('needs no picture for a page, and no WARC when it shall not write one', async () => {
    const broken = await startSite({
      '/': '<title>x</title><img src="/missing.png"><img src="http://127.0.0.1:1/dead.png">',
    })
    try {
      expect(await run('wget', `${broken.url}/`, { ...PATH, WGET_WARC_ENABLED: 'False' })).toMatchObject({
        status: 'succeeded',
      })
      expect(files().filter((path) => path.includes('warc'))).toEqual([])
    } finally {
      await broken.close()
    }
  })

  it.each([
    ['a dead port', DEAD, 'connection refused by 127.0.0.1:1', {}],
    ['a missing page', '/status-404', 'HTTP 404 Not Found', {}],
    ['a redirect loop', '/redirect-loop', 'more than 20 redirects', {}],
    ['a page without an end', '/never-ends', 'larger than 1 MB (WGET_MAX_SIZE)', { WGET_MAX_SIZE: '1mb' }],
    ['a server that says nothing', '/hangs', 'timed out after 0.5 s', { WGET_TIMEOUT: '0.5' }],
  ])('fails with a reason at %s, and leaves nothing behind', async (_name, target, reason, env) => {
    expect(await run('wget', target.startsWith('/') ? at(target) : target, { ...PATH, ...env })).toMatchObject({
      status: 'failed',
      output: reason,
    })
    expect(readdirSync(join(snapshot, 'wget'))).toEqual([])
  })
})
