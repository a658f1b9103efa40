import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { PROFILES } from '../../../src/base/short-folder.ts'
import { readPdf } from '../../../src/plugins/pdftext/read-pdf.ts'
import type { ListedResponse } from '../../../src/plugins/responses/bodies.ts'
import { expectComplete, type Page, pagesOf, type Result, resultsOf } from '../../support/archive.ts'
import { hardPages } from '../../support/hard-pages.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { foldersOf } from '../../support/left-folders.ts'
import { givePackagedBrowser, noPackage } from '../../support/packaged-browser.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, WITH_BROWSER } from '../../support/program.ts'
import { runAll } from '../../support/queued.ts'
import { asset, RUSSIAN, type Site, startSite } from '../../support/site.ts'
import { indexed, packageIn, recordsIn } from '../../support/warc-files.ts'

/** For pages that never come to rest. */
const RESTLESS = ['-c', 'CHROME_SETTLE_TIMEOUT=1']
const homes = useHomes({ ...WITH_BROWSER, WGET_ENABLED: 'False', CHROME_SETTLE_TIMEOUT: '30' })
let site: Site
/** A page with this picture loads until it is shown. */
let picture: PromiseWithResolvers<void>
let pictureHits = 0
beforeAll(async () => {
  site = await startSite({
    ...hardPages,
    '/held': '<!doctype html><title>held</title><p>held<img src="/held.png">',
    '/held.png': (_request, response) => {
      pictureHits += 1
      void picture.promise.then(() => response.writeHead(200, { 'content-type': 'image/png' }).end(asset('dusk.png')))
    },
  })
})
beforeEach(() => {
  picture = Promise.withResolvers()
  pictureHits = 0
})
afterAll(() => site.close())

/** The outputs of one page. */
interface Captured {
  readonly page: Page
  /** `STATUS: WHAT` by plugin. */
  readonly results: Readonly<Record<string, string>>
  readonly bytes: (path: string) => Buffer
  readonly text: (path: string) => string
}

/** A home with a browser; the first one unpacks it. */
async function homeWithBrowser(): Promise<TestHome> {
  const home = await homes.make()
  await givePackagedBrowser(home.dataDir)
  return home
}

const browsers = (home: TestHome) =>
  processesOf(home.dataDir).filter(({ command }) => command.includes('--remote-debugging-pipe'))

/** What was captured of a finished crawl, by path. */
async function captured(home: TestHome, crawlId: string): Promise<Record<string, Captured>> {
  const pages = await expectComplete(home, crawlId)
  const results = await resultsOf(home, crawlId)
  const said = ({ plugin, status, output_str }: Result) => [plugin, `${status}: ${output_str}`]
  return Object.fromEntries(
    pages.map((page) => {
      const bytes = (path: string) => readFileSync(join(home.dataDir, page.output_dir, path))
      const own = results.filter(({ snapshot_id }) => snapshot_id === page.id)
      const text = (path: string) => bytes(path).toString()
      return [new URL(page.url).pathname, { page, results: Object.fromEntries(own.map(said)), bytes, text }]
    }),
  )
}

describe.skipIf(noPackage)(`a browser without any set-up${noPackage}`, () => {
  it('takes everything from one visit, and pages that try its patience get what can be had', async () => {
    const home = await homes.make()
    const paths = '/moved /tall /boxed /alerts /cyrillic /moves /leads-nowhere'.split(' ')
    paths.push('/styled.xml', '/download', '/not-there')
    const urls = paths.map((path) => site.url + path)
    const { stdout, stderr, code } = await home.run(['add', '--run', '--json', ...urls])
    expect(code, stderr).toBe(10)
    expect(processesOf(home.dataDir)).toEqual([])
    const restless = await home.add(...RESTLESS, `${site.url}/busy`, `${site.url}/restless`)
    await runAll(home)
    const crawls = [(JSON.parse(stdout) as { id: string }).id, restless]
    const pages: Record<string, Captured> = {}
    for (const id of crawls) Object.assign(pages, await captured(home, id))

    const { page, results, bytes, text } = pages['/moved']!
    expect(page.title).toBe('title by a script')
    expect(site.hits('/frame'), 'visits of the page').toBe(1)
    expect(site.hits('/pop-up')).toBe(0)
    const dom = text('dom/output.html')
    expect(dom).toContain('text by a script <a href="/found-by-a-browser">')
    expect(dom).toContain('<template shadowrootmode="open"><p>text of a shadow root')
    expect(dom).toContain('<template shadowrootmode="closed"><p>text of a closed root')
    const single = text('singlefile/singlefile.html')
    const roots = ['text of a shadow root', 'text of a closed root']
    for (const words of ['text by a script', ...roots, 'text of a frame', 'frame script'])
      expect(single.includes(words), words).toBe(true)
    expect(single.includes('@import "data:text/css;charset=utf-8;base64,')).toBe(true)
    expect(/<script|\s(src|srcset)="http|url\("?http/.exec(single)).toBeNull()
    expect(single.match(/src="data:image\/png/g), 'pictures').toHaveLength(2)
    expect(bytes('pdf/output.pdf').subarray(0, 5).toString()).toBe('%PDF-')
    expect(sizeOfPng(bytes('screenshot/screenshot.png'))).toEqual({ width: 1440, height: expect.any(Number) })
    expect(sizeOfPng(bytes('screenshot/screenshot.png')).height).toBeGreaterThan(5000)
    expect(text('mhtml/snapshot.mhtml')).toContain('multipart/related')
    expect(text('redirects/redirects.jsonl')).toContain(`"to":"${site.url}/rich","status":302`)
    expect(text('consolelog/console.jsonl')).toMatch(/"warning","text":"a warning 42".*a late error/s)
    expect(text('accessibility/accessibility.json')).toContain('link by a script')
    const responses = text('responses/index.jsonl')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ListedResponse)
    const picture = responses.find(({ url }) => url === `${site.url}/dusk.png`)
    expect(picture).toMatchObject({ resourceType: 'image', mimeType: 'image/png', status: 200 })
    expect(bytes(`responses/${picture?.path}`).equals(asset('dusk.png'))).toBe(true)
    const sheets = responses.filter(({ url }) => url.endsWith('.css'))
    expect(new Set(sheets.map(({ resourceType }) => resourceType))).toEqual(new Set(['stylesheet']))
    expect(new Set(sheets.map(({ path }) => path)).size, 'each body once').toBe(2)
    expect(text('parse_html_urls/urls.jsonl')).toContain('/found-by-a-browser')
    expect(text('readability/content.txt')).toContain('text by a script')
    expect(results['chrome']).toBe('succeeded: chrome/navigation.json')
    const records = await indexed(text('warc/index.cdxj'), bytes('warc/data.warc.gz'))
    const loaded = records.filter(({ record }) => record.fields.has('warc-resource-type')).map(({ record }) => record)
    for (const path of '/moved /rich /look.css /more.css /dusk.png /dusk.png?lazy /frame'.split(' '))
      expect(
        loaded.some(({ url }) => url === site.url + path),
        path,
      ).toBe(true)
    for (const name of ['fullPage', 'view', 'thumbnail', 'pdf', 'text'])
      expect(
        records.some(({ url }) => url === `urn:${name}:${site.url}/moved`),
        name,
      ).toBe(true)
    const own = await packageIn(join(home.dataDir, page.output_dir, 'wacz/page.wacz'))
    expect([own.pages, own.index.length]).toEqual([[`${site.url}/moved`], records.length])
    const { output_dir } = JSON.parse(stdout) as { output_dir: string }
    const profiles = join(home.dataDir, output_dir, 'chrome', PROFILES)
    expect([await foldersOf(home), existsSync(profiles)]).toEqual([[], false])
    const all = await packageIn(join(home.dataDir, output_dir, 'wacz/crawl.wacz'))
    expect(all.pages).toEqual(expect.arrayContaining([`${site.url}/moved`, `${site.url}/tall`]))
    expect(all.index.map(({ url }) => url)).toEqual(expect.arrayContaining(all.pages))

    for (const path of ['/tall', '/alerts', '/busy', '/restless']) {
      const { outcome } = pages[path]!.page
      expect({ path, outcome, ...pages[path]!.results }).toMatchObject({
        path,
        outcome: 'archived',
        screenshot: 'succeeded: screenshot/screenshot.png',
        dom: 'succeeded: dom/output.html',
      })
    }
    const heights = ['', '-2'].map(
      (part) => sizeOfPng(pages['/tall']!.bytes(`screenshot/screenshot${part}.png`)).height,
    )
    expect(heights).toEqual([16_384, expect.closeTo(30_000 - 16_384, -2)])
    const boxed = pages['/boxed']!
    expect(sizeOfPng(boxed.bytes('screenshot/screenshot.png')).height, 'all that is in a box').toBeGreaterThan(5000)
    const printed = await readPdf(boxed.bytes('pdf/output.pdf'), 100, AbortSignal.timeout(60_000))
    expect(printed.text.match(/a line of the text|the last words/g)).toHaveLength(201)
    expect(JSON.parse(pages['/restless']!.text('chrome/navigation.json'))).toMatchObject({ settled: false })
    expect(pages['/cyrillic']!.text('singlefile/singlefile.html')).toContain(RUSSIAN)
    const cyrillic = await recordsIn(pages['/cyrillic']!.bytes('warc/data.warc.gz'))
    const answers = cyrillic.filter(({ type, url }) => type !== 'request' && url === `${site.url}/cyrillic`)
    const payloads = answers.map(({ fields }) => fields.get('warc-payload-digest')).filter((digest) => digest)
    expect(payloads, 'to the browser and to us').toHaveLength(2)
    expect(new Set(payloads).size, 'bytes of both').toBe(1)
    expect(pages['/moves']!.text('dom/output.html')).toContain('<p>second</p>')
    expect(pages['/moves']!.text('parse_html_urls/urls.jsonl')).toContain(`"${site.url}/de/third"`)
    expect(pages['/leads-nowhere']!.results).toMatchObject({
      chrome: 'failed: the browser refuses the port of 127.0.0.1:1',
      screenshot: 'skipped: needs chrome, which failed',
    })
    const styled = pages['/styled.xml']!
    expect(styled.page['outcome']).toBe('archived')
    expect(JSON.parse(styled.text('chrome/navigation.json'))).toMatchObject({ settled: true })
    const shown = await readPdf(styled.bytes('pdf/output.pdf'), 100, AbortSignal.timeout(60_000))
    expect(shown.text).toContain('Item one by a style sheet')
    expect(pages['/download']!.results['chrome']).toBe('noresults: not a page: staticfile/x.zip')
    expect(pages['/not-there']!.results).toMatchObject({
      html: 'failed: HTTP 404 Not Found',
      chrome: 'skipped: needs html, which failed',
    })
  })

  it('ends the tab of a page that takes all memory, and the others go on', async () => {
    const home = await homeWithBrowser()
    const urls = ['/bomb', '/held'].map((path) => site.url + path)
    const added = home.start(['add', '--run', '--json', ...urls], { env: { CHROME_MAX_MEMORY: '300mb' } })
    await eventually(() => home.value("select true from snapshot where url like '%/bomb' and status = 'sealed'"))
    picture.resolve()
    const { stdout, stderr } = await added.finished()
    const pages = await captured(home, (JSON.parse(stdout) as { id: string }).id)
    expect(pages['/bomb']!.page, stderr).toMatchObject({
      outcome: 'partial',
      cause: expect.stringMatching(/the page crashed its tab: it used \d+ MB, more than 300 MB \(CHROME_MAX_MEMORY\)/),
    })
    expect(pages['/held']!.page).toMatchObject({ outcome: 'archived' })
  })

  it('visits a page again whose tab was ended', async () => {
    const home = await homeWithBrowser()
    const added = home.start(['add', '--run', '--json', `${site.url}/held`])
    await eventually(() => pictureHits > 0)
    const tabs = processesOf(home.dataDir).filter(({ command }) => command.includes('--type=renderer'))
    for (const { pid } of tabs) process.kill(pid, 'SIGKILL')
    await eventually(() => pictureHits > 1)
    picture.resolve()
    expect([(await added.finished()).code, tabs.length > 0]).toEqual([0, true])
    const outcomes = await home.value<string[]>('select array_agg(outcome) from snapshot')
    expect(outcomes).toEqual(['archived'])
  })

  it('is started again when it is frozen or its launcher ended; a killed runner leaves none, the next finishes', async () => {
    const home = await homeWithBrowser()
    const urls = Array.from({ length: 8 }, (_, i) => `${site.url}/restless?${i}`)
    const id = await home.add(...RESTLESS, ...urls)
    const before = site.hits('/restless')
    const runner = home.start(['run'])
    await eventually(() => site.hits('/restless') > before + 3)
    // Not one from its start: a try that comes to nothing is followed by another.
    process.kill((await eventually(() => browsers(home)[0])).pid, 'SIGSTOP')
    const archived = async (count: number) => {
      const select = `select count(*)::int from snapshot where status = 'sealed' and outcome = 'archived'`
      await eventually(async () => (await home.value<number>(select)) >= count, 120_000)
    }
    const folder = await home.value<string>('select output_dir from crawl')
    const endpoint = join(home.dataDir, folder, 'chrome/cdp_url.txt')
    // One that serves: a set-up hook that is ended while it begins has failed.
    const launcher = () =>
      browsers(home).length > 0 && existsSync(endpoint)
        ? processesOf(home.dataDir).find(({ command }) => command.includes('chrome_launch'))
        : undefined
    for (const [count, signal] of [
      [1, 'SIGKILL'],
      [3, 'SIGTERM'],
    ] as const) {
      await archived(count)
      process.kill((await eventually(launcher)).pid, signal)
    }
    await archived(5)
    runner.signal('SIGKILL')
    await eventually(() => runner.isOver)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    const pages = await pagesOf(home, id)
    expect(pages.map(({ outcome }) => outcome)).toEqual(urls.map(() => 'archived'))
    const pictures = (await resultsOf(home, id)).filter(({ plugin }) => plugin === 'screenshot')
    expect(pictures.map(({ status, output_str }) => `${status}: ${output_str}`)).toEqual(
      urls.map(() => 'succeeded: screenshot/screenshot.png'),
    )
    expect(browsers(home)).toEqual([])
    expect([await foldersOf(home), existsSync(join(home.dataDir, folder, 'chrome', PROFILES))]).toEqual([[], false])
    const wacz = await packageIn(join(home.dataDir, folder, 'wacz/crawl.wacz'))
    expect(wacz.pages.toSorted()).toEqual(urls)
    expect(wacz.index.map(({ url }) => url)).toEqual(expect.arrayContaining(urls))
  })
})

function sizeOfPng(file: Buffer): { width: number; height: number } {
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) }
}
