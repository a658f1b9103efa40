import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, pagesOf, resultsOf } from '../../support/archive.ts'
import { newFolder, TestHome } from '../../support/homes.ts'
import { killAll, processesOf } from '../../support/processes.ts'
import { eventually, program } from '../../support/program.ts'
import { brokenPromises } from '../../support/promises.ts'
import { type Site, startSite } from '../../support/site.ts'

// The whole thing as a stranger meets it: nothing but a folder that is not there yet, and the embedded server.
let site: Site
let folder: string
let dataDir: string

beforeAll(async () => {
  site = await startSite(3)
  folder = newFolder()
  dataDir = join(folder, 'new', 'archive')
})
afterEach(() => expect(processesOf(folder)).toEqual([]))
afterAll(async () => {
  killAll(processesOf(folder))
  rmSync(folder, { recursive: true, force: true })
  await site.close()
})

const cli = (...args: string[]) => program(args, { env: { DATA_DIR: dataDir } })

/** The rows, through a server that is started for the purpose. */
async function withRows(work: (home: TestHome) => Promise<void>): Promise<void> {
  expect((await cli('db', 'start')).code).toBe(0)
  const home = new TestHome(dataDir, (await cli('db', 'url')).stdout.trim(), {})
  try {
    await work(home)
  } finally {
    await home.close()
    await cli('db', 'stop')
    await eventually(() => processesOf(folder).length === 0)
  }
}

describe('add --run', () => {
  it('archives one page into a new data dir, prints where it lies, and leaves nothing running', async () => {
    const { code, stdout, stderr } = await program(['add', '--run', '--json', `${site.url}/page-1.html`], {
      env: { DATA_DIR: dataDir },
    })
    expect(code, stderr).toBe(0)
    expect(processesOf(folder)).toEqual([])
    const crawl = JSON.parse(stdout) as Record<string, unknown>
    expect(crawl).toMatchObject({ type: 'Crawl', status: 'sealed', snapshots: 1, archived: 1 })
    expect(stderr).toContain('index.html')

    await withRows(async (home) => {
      const [page] = await expectComplete(home, String(crawl['id']))
      expect(page).toMatchObject({ url: `${site.url}/page-1.html`, title: 'Page 1', depth: 0 })
      const results = await resultsOf(home, String(crawl['id']))
      const status = Object.fromEntries(results.map((result) => [result.plugin, result.status]))
      expect(status).toMatchObject({
        headers: 'succeeded',
        html: 'succeeded',
        title: 'succeeded',
        favicon: 'succeeded',
        readability: 'succeeded',
        parse_html_urls: 'succeeded',
        hashes: 'succeeded',
        staticfile: 'noresults',
      })
      const dir = join(dataDir, page!.output_dir)
      for (const file of [
        'headers/headers.json',
        'html/output.html',
        'title/title.txt',
        'readability/article.json',
        'readability/content.html',
        'readability/content.txt',
        'hashes/hashes.json',
      ])
        expect(existsSync(join(dir, file)), file).toBe(true)
      expect(readFileSync(join(dir, 'title', 'title.txt'), 'utf8').trim()).toBe('Page 1')
      expect(readFileSync(join(dir, 'html', 'output.html'), 'utf8')).toContain('ferry leaves the harbour')
      expect(await brokenPromises(home)).toEqual([])
      expect(await home.value("select count(*) from process where status in ('starting', 'running', 'draining')")).toBe(
        '0',
      )
    })
  })

  it('links the page from its crawl, the crawl from the archive, and every output from the page', async () => {
    const top = join(dataDir, 'index.html')
    const crawlPage = target(top, /crawls\/[^"]*index\.html/)
    expect(readFileSync(crawlPage, 'utf8')).toContain('archive/index/0.js')
    const [, path] = /\\t(archive\/snapshots\/.*?)\\t/.exec(readFileSync(join(dataDir, 'archive/index/0.js'), 'utf8'))!
    const snapshotPage = join(dataDir, path!, 'index.html')
    const html = readFileSync(snapshotPage, 'utf8')
    for (const link of html.matchAll(/href="([^"]+)"/g)) {
      if (/^(http|#)/.test(link[1]!)) continue
      const [path] = link[1]!.split('#')
      expect(existsSync(join(dirname(snapshotPage), decodeURIComponent(path!))), link[1]).toBe(true)
    }
    for (const text of ['Page 1', 'html/output.html', 'readability/content.html', `${site.url}/page-1.html`])
      expect(html).toContain(text)
    const records = readFileSync(join(dirname(snapshotPage), 'index.jsonl'), 'utf8')
      .trim()
      .split('\n')
    const [first, ...rest] = records.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(first).toMatchObject({
      type: 'Snapshot',
      status: 'sealed',
      title: 'Page 1',
      output_dir: relative(dataDir, dirname(snapshotPage)),
    })
    expect(rest.every((record) => record['type'] === 'ArchiveResult')).toBe(true)
    expect(rest.length).toBeGreaterThanOrEqual(8)
  })

  it('leaves out what is archived already and says where that is, and archives it anew with --again', async () => {
    const before = await cli('add', '--run', `${site.url}/page-1.html`)
    expect(before).toMatchObject({ code: 0, stdout: '' })
    expect(before.stderr).toMatch(/^1 read · 0 new · 1 archived before \(skipped; --again .*\)\nopen: .*index\.html\n$/)
    const urls = [`${site.url}/page-1.html`, `${site.url}/page-2.html`]
    const { code, stdout, stderr } = await cli('add', '--run', '--again', ...urls)
    expect(code, stderr).toBe(0)
    expect(stderr.match(/2 pages: 2 archived/)).not.toBeNull()
    await withRows(async (home) => {
      const [crawl] = await home.query<{ id: string }>('select id from crawl order by created_at desc limit 1')
      expect(await pagesOf(home, crawl!.id)).toHaveLength(2)
      await expectComplete(home, crawl!.id)
      expect(stdout).toContain(crawl!.id)
    })
  })
})

function target(file: string, pattern: RegExp): string {
  const link = [...readFileSync(file, 'utf8').matchAll(/href="([^"]+)"/g)]
    .map((match) => match[1]!)
    .find((href) => pattern.test(href))
  expect(link, `a link in ${file}`).toBeDefined()
  const path = join(dirname(file), decodeURIComponent(link!))
  expect(existsSync(path), path).toBe(true)
  return path
}
