import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { files, read, runRow, snapshot, useHookRuns } from '../../support/hook-runs.ts'
import { bytes, type Site, startSite } from '../../support/site.ts'

useHookRuns()

const PAGE = '<!doctype html><meta charset="utf-8"><title>Küche</title><p>ä'
const FILE = randomBytes(1_000_000)
const ROW = ['headers', 'staticfile', 'html', 'favicon', 'wget', 'title', 'readability', 'parse_html_urls']
const html = 'text/html; charset=utf-8'
const CHUNKED = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n'

let site: Site
beforeAll(async () => {
  const breaksOff = (body: Buffer, encoding: string) =>
    bytes(html, body, { 'content-encoding': encoding, 'content-length': '100000', connection: 'close' })
  site = await startSite({
    '/page': bytes(html, gzipSync(PAGE), { 'content-encoding': 'gzip' }),
    '/no-type': bytes('', PAGE),
    '/file.bin': bytes('application/octet-stream', FILE),
    '/no-type.bin': bytes('', FILE),
    '/text.txt': bytes('text/plain', gzipSync('text'), { 'content-encoding': 'gzip' }),
    '/no-encoding': bytes(html, PAGE, { 'content-encoding': 'UTF-8' }),
    '/some.txt': bytes('text/plain', gzipSync('text'), { 'content-encoding': 'aws-chunked, gzip' }),
    '/old.txt': bytes('text/plain', 'unreadable', { 'content-encoding': 'compress' }),
    '/file.gz': bytes('application/gzip', gzipSync('text'), { 'content-encoding': 'gzip' }),
    '/half': breaksOff(Buffer.from(PAGE).subarray(0, -1), 'identity'),
    '/none.gz': breaksOff(Buffer.alloc(0), 'gzip'),
    '/half.br': breaksOff(brotliCompressSync(PAGE + 'x'.repeat(99)), 'br'),
    '/early.gz': bytes(html, gzipSync(PAGE).subarray(0, -12), { 'content-encoding': 'gzip' }),
    '/early.br': bytes(html, brotliCompressSync(PAGE + 'x'.repeat(99)).subarray(0, -4), { 'content-encoding': 'br' }),
    '/early.two': bytes(html, brotliCompressSync(gzipSync(PAGE).subarray(0, -12)), { 'content-encoding': 'gzip, br' }),
    '/beacon.gif': (_request, response) => void response.writeHead(204, { 'content-type': 'image/gif' }).end(),
    '/empty.pdf': bytes('application/pdf', ''),
    '/nothing.gz': bytes(html, Buffer.alloc(0), { 'content-encoding': 'gzip' }),
    '/more.zst': bytes(html, Buffer.concat([zstdCompressSync(PAGE), Buffer.from('more')]), {
      'content-encoding': 'zstd',
    }),
    '/half.zst': breaksOff(zstdCompressSync(PAGE), 'zstd'),
    '/twice.bin': (request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': 4 })
      if (site.hits('/twice.bin') > 1) response.end('file')
      else response.write('fi', () => request.socket.resetAndDestroy())
    },
    '/chunks': (request) => void request.socket.end(`${CHUNKED}5\r\nhello\r\nno number\r\n`),
    '/silent': (_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).flushHeaders(),
    '/favicon.ico': (_request, response) => response.writeHead(404).end(),
  })
})
afterAll(() => site.close())

/** Hooks but wget, which asks by itself where it can. */
const WITHOUT_WGET = ROW.filter((plugin) => plugin !== 'wget')

describe('the hooks of a row ask for their page once', () => {
  it.each([
    ['/page', 'html/output.html', PAGE],
    ['/no-type', 'html/output.html', PAGE],
    ['/text.txt', 'staticfile/text.txt', 'text'],
    ['/no-encoding', 'html/output.html', PAGE],
    ['/some.txt', 'staticfile/some.txt', 'text'],
  ])('%s', async (path, kept, text) => {
    await runRow(WITHOUT_WGET, site.url + path)
    expect(read(kept)).toBe(text)
    expect(site.hits(path)).toBe(1)
  })

  it.each([
    ['/file.bin', FILE],
    ['/no-type.bin', FILE],
    ['/file.gz', gzipSync('text')],
  ])('%s, a file as it is', async (path, content) => {
    const ends = await runRow(ROW, site.url + path)
    expect(ends).toMatchObject({
      staticfile: `succeeded: staticfile${path}`,
      wget: expect.stringMatching(/^noresults/),
    })
    expect(readFileSync(join(snapshot, `staticfile${path}`)).equals(content)).toBe(true)
    expect(files()).toEqual(['headers/headers.json', `staticfile${path}`])
    expect(site.hits(path)).toBe(1)
  })
})

it('a body in an encoding that nobody decodes is not kept', async () => {
  const { staticfile } = await runRow(['headers', 'staticfile'], `${site.url}/old.txt`)
  expect(staticfile).toBe('failed: unsupported content encoding: compress')
})

it.each([
  ['/beacon.gif', '204 No Content'],
  ['/empty.pdf', '200 OK'],
])('an answer without a body is an empty one, whatever its type: %s', async (path, status) => {
  const ends = await runRow(['headers', 'staticfile', 'html', 'warc'], site.url + path)
  expect(ends).toMatchObject({
    staticfile: `noresults: an empty answer (HTTP ${status})`,
    warc: 'succeeded: warc/data.warc.gz',
  })
  expect(files().filter((file) => file.startsWith('staticfile/'))).toEqual([])
})

describe('a body that breaks off', () => {
  it.each(['/half', '/half.br', '/half.zst'])('%s is kept as far as it came, and read by others', async (path) => {
    const ends = await runRow(WITHOUT_WGET, site.url + path)
    expect(ends).toMatchObject({
      html: expect.stringMatching(/^failed: connection closed .* before the end of the body; kept as far as it came/),
      title: 'succeeded: Küche',
    })
    expect(read('html/truncated.html')).toMatch(path === '/half' ? /<p>$/ : /<p>ä/)
    expect(site.hits(path)).toBe(1)
  })

  it.each(['/early.gz', '/early.br', '/early.two'])('although its server says %s is whole', async (path) => {
    const { html: end } = await runRow(['headers', 'html'], site.url + path)
    expect(end).toMatch(/^failed: \S+ did not send the end of the compressed body; kept as far as it came/)
    expect(read('html/truncated.html')).toContain('<title>K')
  })

  it('was no compressed one, when nothing came; and what follows one is no reason to end', async () => {
    const { html: end } = await runRow(['html'], `${site.url}/nothing.gz`)
    expect(end).toBe('noresults: an empty answer (HTTP 200 OK)')
    expect((await runRow(['html'], `${site.url}/none.gz`))['html']).toMatch(/^failed: connection closed/)
    await runRow(['html'], `${site.url}/more.zst`)
    expect(files().some((name) => name.startsWith('html/'))).toBe(true)
  })

  it('is kept until another attempt has the whole', async () => {
    const row = ['headers', 'staticfile']
    expect((await runRow(row, `${site.url}/twice.bin`))['staticfile']).toMatch(/^failed: .*: 2 bytes$/)
    expect(files()).toContain('staticfile/truncated-twice.bin')
    expect((await runRow(row, `${site.url}/twice.bin`))['staticfile']).toBe('succeeded: staticfile/twice.bin')
    expect(files()).toEqual(['headers/headers.json', 'staticfile/twice.bin'])
  })

  it('is kept up to where it is damaged', async () => {
    const { html: end } = await runRow(['html'], `${site.url}/chunks`)
    expect(end).toMatch(
      /^failed: damaged transfer from .* \(HPE_INVALID_CHUNK_SIZE\); kept as far as it came: 5 bytes$/,
    )
    expect(read('html/truncated.html')).toBe('hello')
  })

  it('is asked for by wget, too, which may get more of it', async () => {
    const ends = await runRow(['headers', 'html', 'wget'], `${site.url}/half`, { WGET_BINARY: 'no-such-program' })
    expect(ends['wget']).toMatch(/^skipped: no-such-program not found/)
  })
})

describe('a page that the browser has saved', () => {
  it.each([
    [{}, /^noresults: the browser saves the page; WGET_ENABLED=true or --plugins/],
    [{ WGET_ENABLED: 'True' }, /^skipped: no-such-program not found/],
  ])('is not asked for by wget, unless that is wanted: %o', async (env, end) => {
    mkdirSync(join(snapshot, 'chrome'))
    writeFileSync(join(snapshot, 'chrome', 'navigation.json'), '{}')
    const ends = await runRow(['html', 'wget'], `${site.url}/page`, { WGET_BINARY: 'no-such-program', ...env })
    expect(ends['wget']).toMatch(end)
  })
})

describe('a page that keeps its hooks waiting', () => {
  it.each([
    ['/hangs', { headers: 'failed: timed out after 0.5 s', html: 'failed: timed out after 0.5 s' }],
    ['/silent', { headers: 'succeeded: headers/headers.json', html: 'failed: timed out after 0.5 s' }],
  ])('%s is asked for once, and they give it up together', async (path, ends) => {
    expect(await runRow(ROW, site.url + path, { TIMEOUT: '0.5' })).toMatchObject({
      ...ends,
      wget: 'skipped: needs html, which failed',
      title: 'skipped: needs html, which failed',
    })
    expect(site.hits(path)).toBe(1)
  })

  it('is kept as far as it came, when it never ends', async () => {
    const ends = await runRow(ROW, `${site.url}/slow`, { TIMEOUT: '0.5' })
    expect(ends).toMatchObject({
      html: expect.stringMatching(/^failed: timed out after 0\.5 s; kept as far as it came: \d+ bytes$/),
      wget: 'skipped: needs html, which failed',
    })
    expect(read('html/truncated.html')).toMatch(/^x+$/)
    expect(site.hits('/slow')).toBe(1)
  })

  it('has one time for its headers and its body together', async () => {
    const late = await startSite({
      '/': (_request, response) =>
        void setTimeout(() => {
          response.writeHead(200, { 'content-type': 'text/html' }).flushHeaders()
          setTimeout(() => response.end('<title>Late</title>'), 400)
        }, 400),
    })
    const { html: end } = await runRow(['headers', 'html'], `${late.url}/`, { TIMEOUT: '0.6' })
    expect(end).toBe('failed: timed out after 0.6 s')
    await late.close()
  })

  it('is waited for by a more patient hook', async () => {
    const late = await startSite({
      '/': (_request, response) => void setTimeout(() => response.end('<title>Late</title>'), 500),
    })
    const patience = { HEADERS_TIMEOUT: '0.1', HTML_TIMEOUT: '20' }
    expect(await runRow(['headers', 'html'], `${late.url}/`, patience)).toEqual({
      headers: 'failed: timed out after 0.1 s',
      html: 'succeeded: html/output.html',
    })
    expect(late.hits('/')).toBe(1)
    await late.close()
  })
})
