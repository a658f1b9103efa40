// Every page of a server as people with a screen reader, a small screen or the dark meet it, in a real browser.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Browser, noBrowser } from '../../support/browser.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { type Served, serveHome } from '../../support/served.ts'
import { makeServedArchive, type ServedArchive } from '../../support/served-archive.ts'

/** The pages: a new one is a row. */
const PAGES: readonly (readonly [name: string, path: (made: ServedArchive) => string])[] = [
  ['archive', () => '/'],
  ['archive as a grid', () => '/?view=grid'],
  ['archive, narrowed', () => '/?q=title&tag=news&from=2020-01-01&host=example.com'],
  ['archive, with a wrong word', () => '/?from=yesterday'],
  ['crawls', () => '/crawls'],
  ['crawl', ({ crawl }) => `/crawls/${crawl}`],
  ['crawl, what failed', ({ crawl }) => `/crawls/${crawl}?outcome=failed`],
  ['no crawl', () => '/crawls/00000000-0000-7000-8000-000000000000'],
  ['page', ({ copies }) => `/snapshots/${copies.at(-1)}`],
  ['page, its picture', ({ copies }) => `/snapshots/${copies.at(-1)}?copy=screenshot`],
  ['page, its article', ({ copies }) => `/snapshots/${copies.at(-1)}?copy=readability`],
  ['page with hostile text', ({ evil }) => `/snapshots/${evil}`],
  ['page that failed', ({ failed }) => `/snapshots/${failed}`],
  ['page in work', ({ started }) => `/snapshots/${started}`],
  ['page that waits', ({ waiting }) => `/snapshots/${waiting}`],
  ['page that is paused', ({ paused }) => `/snapshots/${paused}`],
  ['log', ({ evil }) => `/snapshots/${evil}/log?hook=wget.on_Snapshot__60_wget.js.2&of=errors`],
  ['live', () => '/live'],
  ['schedules', () => '/schedules'],
  ['plugins', () => '/plugins'],
  ['settings', () => '/settings'],
  ['all settings', () => '/settings?all'],
  ['health', () => '/health'],
  ['no copy of a URL', () => '/web/http://nowhere.example/x?y=1'],
]
const require = createRequire(import.meta.url)
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

const homes = useHomes()
let served: Served
let made: ServedArchive
let browser: Browser

describe.skipIf(noBrowser)('each page', () => {
  beforeAll(async () => {
    const home: TestHome = await homes.original()
    made = await makeServedArchive(home)
    served = await serveHome(home)
    browser = await Browser.start()
    await browser.send('Page.navigate', { url: await served.link() })
    await browser.until("location.pathname === '/' && document.readyState === 'complete'")
  })
  afterAll(async () => {
    await browser.close()
    served.running.signal('SIGTERM')
    await served.running.finished()
  })

  const show = async (path: string, width: number, scheme: 'light' | 'dark') => {
    await browser.send('Emulation.setDeviceMetricsOverride', {
      width,
      height: 844,
      deviceScaleFactor: 1,
      mobile: false,
    })
    await browser.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] })
    await browser.send('Page.navigate', { url: 'about:blank' })
    await browser.until("location.href === 'about:blank'")
    await browser.send('Page.navigate', { url: served.origin + path })
    await browser.until("location.host.startsWith('abx-') && document.readyState !== 'loading'")
  }

  it.each(PAGES)('%s has no axe-core violation, by day and by night, wide and narrow', async (_name, path) => {
    for (const width of [1280, 390])
      for (const scheme of ['light', 'dark'] as const) {
        await show(path(made), width, scheme)
        await browser.evaluate(`${AXE}; 0`)
        const violations = await browser.evaluate<Violation[]>(
          'axe.run(document, { iframes: false }).then(({ violations }) => violations)',
        )
        const told = violations.map(({ id, nodes }) => [id, nodes[0]?.html, nodes[0]?.failureSummary])
        expect(told, `${width} px, ${scheme}`).toEqual([])
      }
  })

  it.each(PAGES)('%s is no wider than a small screen, and a link leads past what comes first', async (_name, path) => {
    await show(path(made), 360, 'light')
    expect(await browser.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    expect(await browser.evaluate("document.querySelectorAll('h1').length")).toBe(1)
    await browser.evaluate("document.querySelector('.skip').click()")
    expect(await browser.evaluate("document.activeElement.id + ' ' + document.activeElement.tagName")).toBe('main MAIN')
  })
})

it('a violation is found', { skip: noBrowser !== '' }, async () => {
  const own = await Browser.start()
  await own.evaluate("document.body.innerHTML = '<img src=x><div role=button></div>'; 0")
  await own.evaluate(`${AXE}; 0`)
  const count = await own.evaluate('axe.run().then(({ violations }) => violations.length)')
  await own.close()
  expect(count).toBeGreaterThan(1)
})
