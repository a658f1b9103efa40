import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const HOOKS = globSync('*/on_*.ts', { cwd: join(ROOT, 'src/plugins') })
  .map((path) => path.replace(/\.ts$/, '.js'))
  .sort((a, b) => (a.split('/')[1]! < b.split('/')[1]! ? -1 : 1))

/** Of earlier builds. */
const STALE = [
  'dist/migrations/0001_former_name.sql',
  'dist/plugins/title/on_Snapshot__99_former_name.js',
  'dist/plugins/former_name/config.json',
]

let site: Site
let place: string
let snapshot: string
const running = new Set<ChildProcess>()

beforeAll(async () => {
  // A build of our own, elsewhere: dist/ belongs to whoever works with the program at the moment.
  place = mkdtempSync(join(tmpdir(), 'plugins-program-'))
  for (const path of ['scripts', 'package.json', 'package-lock.json', 'src'])
    cpSync(join(ROOT, path), join(place, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(place, 'node_modules'))
  for (const path of STALE) {
    mkdirSync(dirname(join(place, path)), { recursive: true })
    writeFileSync(join(place, path), '')
  }
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: place })
  site = await startSite({
    '/': '<title>Start</title><a href="/next">next</a>',
    '/links': Array.from({ length: 10_000 }, (_, i) => `<a href="/link-${i}">${i}</a>`).join('\n'),
  })
})

afterAll(async () => {
  for (const child of running) child.kill('SIGKILL')
  await site?.close()
  rmSync(place, { recursive: true, force: true })
})

beforeEach(() => {
  snapshot = mkdtempSync(join(place, 'snapshot-'))
})

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly records: readonly Record<string, unknown>[]
  readonly stderr: string
}

function start(file: string, args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const cwd = join(snapshot, dirname(file))
  mkdirSync(cwd, { recursive: true })
  // `#!/usr/bin/env node` finds the Node that runs this test.
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  const child = spawn(join(place, 'dist/plugins', file), args, {
    cwd,
    env: { PATH, TIMEOUT: '60', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  return child
}

async function end(child: ChildProcess): Promise<Ended> {
  let stdout = ''
  let stderr = ''
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  running.delete(child)
  const records = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  return { code, signal, records, stderr }
}

const hook = (plugin: string) => HOOKS.find((path) => path.startsWith(`${plugin}/on_Snapshot`))!
const run = (plugin: string, url: string, env: Record<string, string> = {}) =>
  end(start(hook(plugin), [`--url=${url}`], env))

it('a build leaves no migration and no hook of an earlier one', () => {
  expect(STALE.filter((path) => existsSync(join(place, path)))).toEqual([])
})

describe('a built hook', () => {
  it('is an executable with a shebang in the layout of ArchiveBox, with its config.json', () => {
    expect(HOOKS.map((path) => path.split('/')[1])).toEqual([
      'on_CrawlSetup__90_chrome_launch.daemon.bg.js',
      'on_Snapshot__10_headers.js',
      'on_Snapshot__15_staticfile.js',
      'on_Snapshot__20_html.js',
      'on_Snapshot__25_favicon.js',
      'on_Snapshot__30_chrome_navigate.js',
      'on_Snapshot__35_wget.js',
      'on_Snapshot__49_mhtml.js',
      'on_Snapshot__50_singlefile.js',
      'on_Snapshot__51_screenshot.js',
      'on_Snapshot__52_pdf.js',
      'on_Snapshot__53_dom.js',
      'on_Snapshot__54_title.js',
      'on_Snapshot__55_seo.js',
      'on_Snapshot__56_readability.js',
      'on_Snapshot__57_accessibility.js',
      'on_Snapshot__57_markdown.js',
      'on_Snapshot__58_consolelog.js',
      'on_Snapshot__58_htmltotext.js',
      'on_Snapshot__59_redirects.js',
      'on_Snapshot__61_pdftext.js',
      'on_Snapshot__62_exif.js',
      'on_Snapshot__70_parse_html_urls.js',
      'on_Snapshot__71_parse_txt_urls.js',
      'on_Snapshot__72_parse_rss_urls.js',
      'on_Snapshot__74_parse_jsonl_urls.js',
      'on_Snapshot__80_warc.js',
      'on_Snapshot__81_wacz.js',
      'on_Snapshot__82_responses.js',
      'on_Snapshot__84_git.js',
      'on_Snapshot__85_ytdlp.js',
      'on_Snapshot__86_archivedotorg.js',
      'on_Snapshot__93_hashes.js',
    ])
    for (const path of HOOKS) {
      const file = join(place, 'dist/plugins', path)
      expect(statSync(file).mode & 0o111, path).toBe(0o111)
      expect(readFileSync(file, 'utf8'), path).toMatch(/^#!\/usr\/bin\/env node\n/)
      const plugin = dirname(path)
      const config = JSON.parse(readFileSync(join(place, 'dist/plugins', plugin, 'config.json'), 'utf8')) as {
        properties: Record<string, unknown>
      }
      const names = Object.keys(config.properties)
      expect(names).toContain(`${plugin.toUpperCase()}_ENABLED`)
      // Whatever is documented is read, and by the name it is documented with.
      const places = ['{base,browse,plugins/base}/**/*.ts', `plugins/${plugin}/*.ts`]
      const sources = globSync(places, { cwd: join(ROOT, 'src') }).map((source) =>
        readFileSync(join(ROOT, 'src', source), 'utf8'),
      )
      for (const name of names) if (!/_(ENABLED|TIMEOUT)$/.test(name)) expect(sources.join(), name).toContain(name)
    }
  })

  it('archives a page by hand, hook after hook, and says so in records', async () => {
    const context = { snapshot_id: 's1', snapshot_depth: 1 }
    const results: Record<string, unknown> = {}
    for (const path of HOOKS.filter((path) => path.includes('on_Snapshot'))) {
      const plugin = dirname(path)
      const { code, records } = await run(plugin, `${site.url}/`, {
        EXTRA_CONTEXT: JSON.stringify(context),
        WGET_ENABLED: 'False',
      })
      expect(code, plugin).toBe(0)
      for (const record of records) expect(record).toMatchObject(context)
      expect(records.at(-1)).toMatchObject({ type: 'ArchiveResult' })
      results[plugin] = records.at(-1)!['status']
      if (plugin === 'parse_html_urls')
        expect(records[0]).toMatchObject({ type: 'Snapshot', url: `${site.url}/next`, depth: 2 })
    }
    expect(results).toEqual({
      archivedotorg: 'noresults',
      ...{ exif: 'noresults', git: 'noresults', markdown: 'succeeded', pdftext: 'noresults', ytdlp: 'noresults' },
      ...{ parse_jsonl_urls: 'noresults', parse_rss_urls: 'noresults', parse_txt_urls: 'noresults' },
      headers: 'succeeded',
      staticfile: 'noresults',
      html: 'succeeded',
      favicon: 'noresults',
      chrome: 'skipped', // Nobody has started a browser.
      wget: 'skipped',
      mhtml: 'skipped',
      singlefile: 'skipped',
      screenshot: 'skipped',
      pdf: 'skipped',
      dom: 'skipped',
      title: 'succeeded',
      seo: 'succeeded',
      readability: 'succeeded',
      accessibility: 'skipped',
      consolelog: 'skipped',
      htmltotext: 'succeeded',
      redirects: 'skipped',
      parse_html_urls: 'succeeded',
      warc: 'succeeded',
      wacz: 'succeeded',
      responses: 'succeeded',
      hashes: 'succeeded',
    })
    expect(readFileSync(join(snapshot, 'title/title.txt'), 'utf8')).toBe('Start')
  })

  it('needs no page of another hook', async () => {
    expect((await run('title', `${site.url}/`)).records).toEqual([
      { type: 'ArchiveResult', status: 'succeeded', output_str: 'Start', output_json: { http_status: 200 } },
    ])
  })

  it('fails with exit code 1 and a reason', async () => {
    const { code, records, stderr } = await run('html', 'http://127.0.0.1:1/')
    expect([code, records.at(-1)]).toEqual([
      1,
      { type: 'ArchiveResult', status: 'failed', output_str: 'connection refused by 127.0.0.1:1' },
    ])
    expect(stderr).toBe('html: failed: connection refused by 127.0.0.1:1\n')
  })

  it('times out by itself', async () => {
    const { code, records } = await run('html', `${site.url}/hangs`, { HTML_TIMEOUT: '0.3' })
    expect([code, records.at(-1)]).toMatchObject([1, { status: 'failed', output_str: 'timed out after 0.3 s' }])
  })

  it('explains itself without a URL, with exit code 2', async () => {
    const { code, records, stderr } = await end(start(hook('title'), []))
    expect([code, records]).toEqual([2, []])
    expect(stderr).toMatch(/^usage: \S+on_Snapshot__54_title\.js --url=URL\n/)
  })

  it('runs through a symlink, too, and takes --url URL', async () => {
    symlinkSync(join(place, 'dist/plugins', hook('title')), join(place, 'dist/plugins/title/link.js'))
    const { records } = await end(start('title/link.js', ['--url', `${site.url}/`]))
    expect(records).toMatchObject([{ status: 'succeeded', output_str: 'Start' }])
  })

  it('emits ten thousand links completely through a pipe', async () => {
    const { code, records } = await run('parse_html_urls', `${site.url}/links`)
    expect([code, records.length]).toEqual([0, 10_001])
    expect(records.at(-1)).toMatchObject({ type: 'ArchiveResult', output_str: '10000 URLs parsed' })
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('reports and then dies of %s, leaving nothing half done', async (signal) => {
    const child = start(hook('html'), [`--url=${site.url}/slow`])
    const before = site.hits('/slow')
    const ended = end(child)
    await eventually(() => site.hits('/slow') > before)
    child.kill(signal)
    expect(await ended).toMatchObject({
      code: null,
      signal,
      records: [{ status: 'failed', output_str: `stopped by ${signal}` }],
    })
    expect(existsSync(join(snapshot, 'html/output.html'))).toBe(false)
  })
})

describe('the built demo site', () => {
  it('lies where the program looks for it', () => {
    for (const name of ['index.html', 'style.css', 'dusk.png', 'checklist.pdf', 'favicon.ico'])
      expect(existsSync(join(place, 'dist/demo-site', name)), name).toBe(true)
  })
})
