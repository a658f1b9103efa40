import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { Visit } from '../../src/browse/visit.ts'
import type { HookModule, HookResult } from '../../src/hooks/contract.ts'
import archivedotorg from '../../src/plugins/archivedotorg/on_Snapshot__86_archivedotorg.ts'
import exif from '../../src/plugins/exif/on_Snapshot__62_exif.ts'
import favicon from '../../src/plugins/favicon/on_Snapshot__25_favicon.ts'
import git from '../../src/plugins/git/on_Snapshot__84_git.ts'
import hashes from '../../src/plugins/hashes/on_Snapshot__93_hashes.ts'
import headers from '../../src/plugins/headers/on_Snapshot__10_headers.ts'
import html from '../../src/plugins/html/on_Snapshot__20_html.ts'
import markdown from '../../src/plugins/markdown/on_Snapshot__57_markdown.ts'
import parseHtmlUrls from '../../src/plugins/parse_html_urls/on_Snapshot__70_parse_html_urls.ts'
import parseJsonlUrls from '../../src/plugins/parse_jsonl_urls/on_Snapshot__74_parse_jsonl_urls.ts'
import parseRssUrls from '../../src/plugins/parse_rss_urls/on_Snapshot__72_parse_rss_urls.ts'
import parseTxtUrls from '../../src/plugins/parse_txt_urls/on_Snapshot__71_parse_txt_urls.ts'
import pdftext from '../../src/plugins/pdftext/on_Snapshot__61_pdftext.ts'
import readability from '../../src/plugins/readability/on_Snapshot__56_readability.ts'
import staticfile from '../../src/plugins/staticfile/on_Snapshot__15_staticfile.ts'
import title from '../../src/plugins/title/on_Snapshot__54_title.ts'
import wacz from '../../src/plugins/wacz/on_Snapshot__81_wacz.ts'
import warc from '../../src/plugins/warc/on_Snapshot__80_warc.ts'
import wget from '../../src/plugins/wget/on_Snapshot__35_wget.ts'
import ytdlp from '../../src/plugins/ytdlp/on_Snapshot__85_ytdlp.ts'
import { asset, bytes, pages, type Site, startSite } from './site.ts'

/** The built-in hooks, by plugin. */
export const HOOKS: Readonly<Record<string, HookModule>> = {
  headers,
  staticfile,
  html,
  favicon,
  wget,
  title,
  readability,
  markdown,
  pdftext,
  exif,
  parse_html_urls: parseHtmlUrls,
  parse_txt_urls: parseTxtUrls,
  parse_rss_urls: parseRssUrls,
  parse_jsonl_urls: parseJsonlUrls,
  git,
  ytdlp,
  archivedotorg,
  hashes,
}
const ALL: Readonly<Record<string, HookModule>> = { ...HOOKS, warc, wacz }
/** A port where nothing listens. */
export const DEAD = 'http://127.0.0.1:1/'

/** The site that the hooks of this file request. */
export let site: Site
/** The page folder of the current test. */
export let snapshot: string

/** Sets up a site for the tests of a file, with every trouble that a page can make, and a folder for each test. */
export function useHookRuns(): void {
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
      '/redirect-half': (_request, response) => response.writeHead(302, { location: '/half.bin' }).end(),
      '/redirect-cookie-half': (request, response) => {
        if (!request.headers.cookie)
          return void response.writeHead(302, { location: '/redirect-cookie-half', 'set-cookie': 'a=1' }).end()
        response.writeHead(200, { 'content-length': 1_000 })
        response.write('half', () => request.socket.resetAndDestroy())
      },
      '/redirect-long': (_request, response) => {
        response.writeHead(302, { location: '/' })
        response.write(Buffer.alloc(100_000, 'long '))
      },
      '/choices': (_request, response) => response.writeHead(300, { 'content-type': 'text/html' }).end('<p>a or b'),
      '/long.bin': bytes('application/octet-stream', Buffer.alloc(3_000_000, 'long ')),
      '/gone.pdf': (_request, response) =>
        response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found. See https://ads.example/buy'),
      '/error-codes.txt': bytes('text/plain', '404 https://a.test/missing'),
      '/empty.pdf': bytes('application/pdf', ''),
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
}

interface Ran extends HookResult {
  readonly records: readonly Record<string, unknown>[]
}

/** Runs one hook in the snapshot directory of this test, as the warm host does. */
export async function run(
  plugin: string,
  url: string,
  env: Record<string, string> = {},
  signal = new AbortController().signal,
  visit?: Visit,
): Promise<Ran> {
  const outputDir = join(snapshot, plugin)
  mkdirSync(outputDir, { recursive: true })
  const records: Record<string, unknown>[] = []
  const context = {
    url,
    outputDir,
    env: { PATH: process.env['PATH'], TIMEOUT: '60', ...env },
    signal,
    visit,
    emit: (record: object) => records.push({ ...record }),
    log: () => {},
  }
  return { ...(await ALL[plugin]!.run(context)), records }
}

/** Runs hooks one after another as a row of the warm host. @returns how each ended, `status: output` */
export async function runRow(
  plugins: readonly string[],
  url: string,
  env: Record<string, string> = {},
): Promise<Record<string, string>> {
  const visit = new Visit(plugins)
  const ends: Record<string, string> = {}
  try {
    for (const plugin of plugins) {
      const { status, output } = await run(plugin, url, env, undefined, visit)
      ends[plugin] = `${status}: ${output}`
    }
  } finally {
    await visit.close()
  }
  return ends
}

/** The URL of a path on the site. */
export const at = (path: string) => site.url + path
/** A file that a hook wrote. */
export const read = (path: string) => readFileSync(join(snapshot, path), 'utf8')
export const json = (path: string) => JSON.parse(read(path)) as Record<string, unknown>
/** Every file of the page, or of a folder. */
export const files = (dir = snapshot) =>
  (readdirSync(dir, { recursive: true }) as string[]).filter((path) => statSync(join(dir, path)).isFile()).sort()
