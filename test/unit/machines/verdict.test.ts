import { describe, expect, it } from 'vitest'
import { causeOf, isConsequence, isUnreachable } from '../../../src/machines/cause.ts'
import { type JudgedResult, verdictOn as verdictBy } from '../../../src/machines/verdict.ts'
import { meaningsOf } from '../../support/meanings.ts'

const MEANINGS = meaningsOf('ytdlp', 'gallerydl', 'mercury', 'chrome_tab', 'git', 'papersdl', 'forumdl')
const verdictOn = (results: readonly JudgedResult[], headersStatus: number | null) =>
  verdictBy(results, MEANINGS, headersStatus)

const ORDER = ['headers', 'staticfile', 'html', 'favicon', 'wget', 'title', 'readability', 'hashes']

/** A result of a built-in; one that succeeded has a file. */
function result(plugin: string, status: JudgedResult['status'], output = '', json: unknown = null): JudgedResult {
  const hook_name = `on_Snapshot__${10 + ORDER.indexOf(plugin)}_${plugin}`
  return { plugin, hook_name, status, output_str: output, output_json: json, has_files: status === 'succeeded' }
}
const ok = (plugin: string, json?: unknown) => result(plugin, 'succeeded', '', json)
const failed = (plugin: string, output: string, json?: unknown) => result(plugin, 'failed', output, json)
const skipped = (plugin: string, output: string) => result(plugin, 'skipped', output)

describe('the verdict on a page', () => {
  it('is archived when a copy is there and nothing failed', () => {
    const results = [ok('headers'), ok('html'), skipped('wget', 'wget not found: apt-get install wget')]
    expect(verdictOn(results, 200)).toEqual({ outcome: 'archived', cause: null, http_status: 200 })
  })

  it('is partial when a copy is there and something failed', () => {
    const results = [ok('headers'), ok('html'), failed('favicon', 'connection reset by example.com')]
    expect(verdictOn(results, 200)).toEqual({
      outcome: 'partial',
      cause: 'favicon: connection reset',
      http_status: 200,
    })
  })

  it('is partial when what came of a body that broke off is all there is', () => {
    const html = failed('html', 'timed out after 60 s; kept as far as it came: 1 kB', { truncated: true })
    const kept = { outcome: 'partial', cause: 'html: timed out after 60 s', http_status: 200 }
    expect(verdictOn([ok('headers'), { ...html, has_files: true }], 200)).toEqual(kept)
    expect(verdictOn([ok('headers'), html], 200)).toMatchObject({ outcome: 'failed' })
    expect(verdictOn([ok('headers'), { ...html, has_files: true }], 500)).toMatchObject({ outcome: 'failed' })
  })

  it('is failed without a copy, and the first failure is the cause', () => {
    const results = [
      skipped('title', 'needs html, which failed'),
      failed('html', 'connection refused by 127.0.0.1:1'),
      failed('headers', 'host not found: nowhere.example'),
    ]
    expect(verdictOn(results, null)).toEqual({ outcome: 'failed', cause: 'host not found', http_status: null })
  })

  it('takes no copy of an error page for one of the page', () => {
    expect(verdictOn([ok('headers'), ok('html'), ok('title')], 404)).toEqual({
      outcome: 'failed',
      cause: 'HTTP 404',
      http_status: 404,
    })
    expect(verdictOn([failed('html', 'HTTP 500 Internal Server Error')], null)).toMatchObject({ http_status: 500 })
  })

  it('takes a repository for a copy whose address has no page', () => {
    const results = [failed('html', 'HTTP 404 Not Found'), { ...ok('wget'), plugin: 'git' }]
    expect(verdictOn(results, 404)).toEqual({ outcome: 'partial', cause: 'html: HTTP 404', http_status: 404 })
  })

  it('believes whoever made the copy about the status, not whoever asked before', () => {
    expect(verdictOn([ok('headers', { http_status: 503 }), ok('html', { http_status: 200 })], 503)).toEqual({
      outcome: 'archived',
      cause: null,
      http_status: 200,
    })
    const browser = [
      ok('headers', { http_status: 403 }),
      failed('html', 'HTTP 403 Forbidden', { http_status: 403 }),
      { ...ok('wget'), plugin: 'chrome', output_str: 'page loaded http=200' },
      { ...ok('wget'), plugin: 'screenshot' },
    ]
    expect(verdictOn(browser, 403)).toEqual({ outcome: 'partial', cause: 'html: HTTP 403', http_status: 200 })
  })

  it('goes by what was asked for where nothing was to make a copy', () => {
    expect(verdictOn([ok('title')], 200).outcome).toBe('archived')
    expect(verdictOn([result('title', 'noresults', 'no title')], 200).outcome).toBe('archived')
    expect(verdictOn([ok('headers'), failed('title', 'no memory')], 200)).toMatchObject({
      outcome: 'partial',
      cause: 'title: no memory',
    })
    expect(verdictOn([failed('title', 'no memory')], 200).outcome).toBe('failed')
    // Nobody has asked for the page.
    expect(verdictOn([result('hashes', 'noresults', 'no files to hash')], null)).toMatchObject({
      outcome: 'failed',
      cause: 'nothing to keep',
    })
  })

  it('is failed when nothing failed, but nothing is kept', () => {
    const nothing = [ok('headers'), result('html', 'noresults', 'not HTML'), result('staticfile', 'noresults')]
    expect(verdictOn(nothing, 204)).toEqual({
      outcome: 'failed',
      cause: 'nothing to keep (HTTP 204)',
      http_status: 204,
    })
    const empty = result('html', 'noresults', 'an empty answer (HTTP 200 OK)')
    expect(verdictOn([ok('headers'), empty], 200)).toMatchObject({ outcome: 'failed', cause: 'empty answer' })
    // A record of the empty answer is no copy of a page; of others it may be the only one.
    expect(verdictOn([empty, ok('warc'), ok('wacz')], 200)).toMatchObject({ outcome: 'failed', cause: 'empty answer' })
    expect(verdictOn([ok('headers'), ok('warc')], 200)).toMatchObject({ outcome: 'archived' })
    const recorded = [ok('warc', { empty: true }), ok('wacz')]
    expect(verdictOn(recorded, 204)).toMatchObject({ outcome: 'failed', cause: 'empty answer (HTTP 204)' })
    const missing = skipped('wget', 'wget not found: apt-get install wget')
    expect(verdictOn([missing], null)).toMatchObject({ outcome: 'failed', cause: missing.output_str })
    expect(verdictOn([], null)).toMatchObject({ outcome: 'failed', cause: 'nothing was run' })
  })

  it('says of what was cancelled that it was', () => {
    expect(verdictOn([ok('html'), skipped('title', 'cancelled')], 200)).toMatchObject({
      outcome: 'partial',
      cause: 'cancelled',
    })
    expect(verdictOn([ok('headers'), skipped('html', 'cancelled')], 200)).toMatchObject({
      outcome: 'failed',
      cause: 'cancelled',
    })
    expect(verdictOn([failed('headers', 'timed out after 60 s'), skipped('html', 'cancelled')], null)).toMatchObject({
      cause: 'timed out after 60 s',
    })
  })

  it('passes over consequences, also in the words of earlier versions', () => {
    const results = [failed('staticfile', 'no headers/headers.json to read'), failed('html', 'HTTP 404 Not Found')]
    expect(verdictOn(results, null).cause).toBe('HTTP 404')
  })
})

describe('the cause of a failure', () => {
  it.each([
    ['connection refused by example.com:81', 'connection refused'],
    ['net::ERR_CONNECTION_REFUSED at http://example.com/', 'connection refused'],
    ['connection reset by example.com', 'connection reset'],
    ['connection closed by example.com before the end of the body', 'connection reset'],
    ['host not found: nowhere.invalid', 'host not found'],
    ['name lookup failed for x (no network, or a name server that does not answer)', 'name lookup failed'],
    ['connection to example.com timed out', 'connection timed out'],
    ['timed out after 60 s', 'timed out after 60 s'],
    ['HTTP 404 Not Found', 'HTTP 404'],
    ['HTTP 503', 'HTTP 503'],
    ['larger than 50 MB (HTML_MAX_SIZE)', 'larger than 50 MB'],
    ['redirect loop after 3 redirects (http://example.com/)', 'too many redirects'],
    ['more than 20 redirects', 'too many redirects'],
    ['TLS problem with example.com: certificate has expired', 'certificate expired'],
    ['TLS problem with example.com: self-signed certificate', 'certificate not trusted'],
    [
      "TLS problem with a.example: Hostname/IP does not match certificate's altnames: Host: a.example",
      'certificate of another host',
    ],
    ['TLS problem with example.com: wrong version number', 'TLS failed'],
    ['given up: 5 attempts at this page did not finish: its worker', 'gave up: its worker died 5 times'],
    ['blocked by robots.txt', 'robots.txt'],
    // No codes of the system, although their letters are in it.
    ["FileNotFoundError: no such file: 'a'", "html: FileNotFoundError: no such file: 'a'"],
    ['RemoteProtocolError: bad chunk', 'html: RemoteProtocolError: bad chunk'],
    ['something nobody foresaw\nat line 3', 'html: something nobody foresaw'],
    ['html: exit code 8', 'html: exit code 8'],
    ['', 'html: failed without a word'],
  ])('%s', (output, cause) => {
    expect(causeOf('html', output)).toBe(cause)
  })

  it('is about reaching the page, or not', () => {
    for (const cause of [
      'HTTP 404',
      'connection refused',
      'host not found',
      'certificate expired',
      'TLS failed',
      'robots.txt',
    ])
      expect(isUnreachable(cause)).toBe(true)
    for (const cause of ['timed out after 60 s', 'larger than 50 MB', 'html: no memory'])
      expect(isUnreachable(cause)).toBe(false)
  })

  it('is told from its consequences', () => {
    expect(isConsequence('needs html, which failed')).toBe(true)
    expect(isConsequence('HTTP 404, as html found')).toBe(true)
    expect(isConsequence('HTTP 404 Not Found')).toBe(false)
  })
})
