import { cpSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { json, read, runRow, snapshot, useHookRuns } from '../../support/hook-runs.ts'
import { bytes, type Route, type Site, startSite, windows1251 } from '../../support/site.ts'
import { recordsIn } from '../../support/warc-files.ts'

useHookRuns()

const ROW = ['headers', 'staticfile', 'html', 'title']
const DATE = 'Mon, 02 Nov 2026 10:00:00 GMT'
const ZIPPED = gzipSync('<!doctype html><title>Packed</title>')
const FILE = Buffer.alloc(600_000, 'file ')

/** What was asked for, by path: the headers of each request. */
const asked = new Map<string, IncomingHttpHeaders[]>()
/** Happens while the next request is under way. */
let whenAsked: (() => void) | undefined
let site: Site
let earlier: string
/** What some servers say of the body that they do not send. */
const WRONG = { 'content-type': 'text/html', 'content-encoding': 'gzip', 'content-disposition': 'inline; filename=a' }

/** Is sent once; then it is not modified, as long as it is asked for so. */
function tagged(content: Route, headers: Readonly<Record<string, string>>): Route {
  return (request, response) => {
    const before = asked.get(request.url!) ?? []
    asked.set(request.url!, [...before, request.headers])
    whenAsked?.()
    whenAsked = undefined
    const isSame =
      (headers['etag'] !== undefined && request.headers['if-none-match'] === headers['etag']) ||
      (headers['last-modified'] !== undefined && request.headers['if-modified-since'] === headers['last-modified'])
    if (isSame) response.writeHead(304, { ...headers, ...WRONG, 'x-seen': 'twice' }).end()
    else if (typeof content === 'function') {
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
      content(request, response)
    }
  }
}

beforeAll(async () => {
  const page = (title: string) => bytes('text/html', `<!doctype html><title>${title}</title>`)
  site = await startSite({
    '/tag': tagged(page('Tag'), { etag: '"a"' }),
    '/date': tagged(page('Date'), { 'last-modified': DATE }),
    '/packed': tagged(bytes('text/html', ZIPPED, { 'content-encoding': 'gzip' }), { etag: 'W/"b"' }),
    '/russian': tagged(bytes('text/html; charset=windows-1251', windows1251('<title>Маяк</title>')), { etag: '"c"' }),
    '/file.txt': tagged(bytes('text/plain', FILE), { etag: '"d"' }),
    '/file.pdf': tagged(bytes('application/pdf', '%PDF-1.4'), { etag: '"h"' }),
    '/moved': (_request, response) => response.writeHead(302, { location: '/tag' }).end(),
    '/plain': tagged(page('Plain'), {}),
    '/private': tagged(page('Private'), { etag: '"e"', 'cache-control': 'private' }),
    '/cookie': tagged(page('Cookie'), { etag: '"f"', vary: 'Accept, Cookie' }),
    '/dated': tagged(page('Dated'), { 'last-modified': DATE }),
    '/half': tagged(bytes('text/html', '<title>Half', { 'content-length': '1000', connection: 'close' }), {
      etag: '"g"',
    }),
  })
})
afterAll(() => site.close())
beforeEach(() => {
  earlier = mkdtempSync(join(tmpdir(), 'earlier-'))
  asked.clear()
})
afterEach(() => rmSync(earlier, { recursive: true, force: true }))

/** Those of somebody who is known to the site. */
function cookiesFile(): string {
  const file = join(earlier, 'cookies.txt')
  writeFileSync(file, '# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\ta\tb\n')
  return file
}

/** Archives a page, as an earlier one, and once more. @returns how the second time went */
async function twice(
  path: string,
  between = () => {},
  env: Record<string, string> = {},
  before: Record<string, string> = {},
) {
  await runRow(ROW, site.url + path, before)
  cpSync(snapshot, earlier, { recursive: true, preserveTimestamps: true })
  rmSync(snapshot, { recursive: true })
  between()
  return await runRow(ROW, site.url + path, { ARCHIVEBOX_EARLIER_DIR: earlier, ...env })
}

describe('a page that was archived before, and is not modified', () => {
  it.each([
    ['/tag', 'html', 'html/output.html'],
    ['/date', 'html', 'html/output.html'],
    ['/packed', 'html', 'html/output.html'],
    ['/russian', 'html', 'html/output.html'],
    ['/moved', 'html', 'html/output.html'],
    ['/file.txt', 'staticfile', 'staticfile/file.txt'],
    ['/file.pdf', 'staticfile', 'staticfile/file.pdf'],
  ])('%s is what it was, and %s says since when', async (path, plugin, file) => {
    let before = ''
    let type: unknown
    const ends = await twice(path, () => {
      const readEarlier = (name: string) => readFileSync(join(earlier, name), 'utf8')
      before = readEarlier(file)
      type = JSON.parse(readEarlier('headers/headers.json')).headers['content-type']
    })
    expect(ends[plugin]).toMatch(/^succeeded: unchanged since 2\d{3}-.*Z$/)
    expect(read(file)).toBe(before)
    expect(json('headers/headers.json')).toMatchObject({
      status: 200,
      headers: { 'content-type': type, 'x-seen': 'twice' },
      not_modified: { status: 304, since: ends[plugin]!.split('since ')[1], headers: { 'x-seen': 'twice' } },
    })
    // The earlier one may go: nothing of it is shared.
    rmSync(earlier, { recursive: true })
    expect(read(file)).toBe(before)
  })
})

describe('a page is asked for as if for the first time', () => {
  const conditions = (path: string) =>
    asked.get(path)!.map((headers) => headers['if-none-match'] ?? headers['if-modified-since'] ?? 'none')
  const drop = (path: string) => () => rmSync(join(earlier, path), { recursive: true })

  it.each([
    ['/plain', 'without a tag or a date', () => {}],
    ['/private', 'that was for one visitor', () => {}],
    ['/cookie', 'that depends on cookies', () => {}],
    ['/half', 'that broke off', () => {}],
    ['/tag', 'whose headers are gone', drop('headers')],
    ['/tag', 'whose file is gone', drop('html')],
    ['/tag', 'whose headers are newer', () => utimesSync(join(earlier, 'headers/headers.json'), 2e9, 2e9)],
    ['/tag', 'whose headers are damaged', () => writeFileSync(join(earlier, 'headers/headers.json'), '{"url":')],
  ])('after one (%s) %s', async (path, _why, between) => {
    await twice(path, between)
    expect(conditions(path)).toEqual(['none', 'none'])
    expect(json('headers/headers.json')).not.toHaveProperty('not_modified')
  })

  it('when cookies are sent, which may make it another page', async () => {
    await twice('/tag', () => {}, { COOKIES_FILE: cookiesFile() })
    expect(asked.get('/tag')!.map(({ cookie }) => cookie)).toEqual([undefined, 'a=b'])
    expect(conditions('/tag')).toEqual(['none', 'none'])
  })

  it.each([
    ['a persona', () => ({ COOKIES_FILE: cookiesFile() })],
    ['one who speaks another language', () => ({ ACCEPT_LANGUAGE: 'de' })],
    ['another program', () => ({ USER_AGENT: 'Mobile' })],
  ])('when it was %s who saw it before', async (_who, before) => {
    const ends = await twice('/dated', () => {}, {}, before())
    expect(conditions('/dated')).toEqual(['none', 'none'])
    expect(ends['html']).toBe('succeeded: html/output.html')
  })

  it('when the earlier copy is deleted before it could be read', async () => {
    const ends = await twice('/tag', () => {
      whenAsked = drop('html')
    })
    expect(ends['html']).toBe('succeeded: html/output.html')
    expect(read('html/output.html')).toContain('<title>Tag</title>')
    expect(conditions('/tag')).toEqual(['none', '"a"', 'none'])
  })
})

describe('a page that is not modified', () => {
  it('is unchanged since it was sent, however often it was asked for', async () => {
    const sent = { since: '2026-11-02T10:00:00.000Z' }
    const ends = await twice('/tag', () => {
      const path = join(earlier, 'headers/headers.json')
      const record = { ...JSON.parse(readFileSync(path, 'utf8')), not_modified: sent }
      writeFileSync(path, JSON.stringify(record))
    })
    expect(ends['html']).toBe(`succeeded: unchanged since ${sent.since}`)
    expect(json('headers/headers.json')['not_modified']).toMatchObject(sent)
  })

  it('is whole in its WARC all the same', async () => {
    await runRow(ROW, `${site.url}/tag`)
    cpSync(snapshot, earlier, { recursive: true, preserveTimestamps: true })
    const env = { ARCHIVEBOX_EARLIER_DIR: earlier }
    rmSync(snapshot, { recursive: true })
    const ends = await runRow([...ROW, 'warc'], `${site.url}/tag`, env)
    expect(ends).toMatchObject({ html: expect.stringContaining('unchanged'), warc: 'succeeded: warc/data.warc.gz' })
    const all = await recordsIn(readFileSync(join(snapshot, 'warc/data.warc.gz')))
    expect(all.filter(({ type }) => type === 'response')).toMatchObject([{ url: `${site.url}/tag`, status: 200 }])
  })
})
