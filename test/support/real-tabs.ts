import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { launchBrowser } from '../../src/browse/browser/launch.ts'
import type { RunningBrowser } from '../../src/browse/browser/start-browser.ts'
import { Tab } from '../../src/browse/browser/tab.ts'
import type { TabSetup } from '../../src/browse/browser/tab-setup.ts'
import { type Visited, visitPage } from '../../src/browse/browser/visit-page.ts'
import { packagedBrowser } from './packaged-browser.ts'

/** How long a page may take to settle. */
export const REST_MS = 30_000

const UNDRESSED = async () => {}

/** The packaged browser and its tabs, without a crawl. */
export class RealTabs {
  /** For files that are removed with it. */
  readonly folder: string
  readonly #browser: RunningBrowser

  private constructor(folder: string, browser: RunningBrowser) {
    this.folder = folder
    this.#browser = browser
  }

  /**
   * @param env settings
   * @param isIsolated whether each site has its own process
   */
  static async start(env: Readonly<Record<string, string>> = {}, isIsolated = false): Promise<RealTabs> {
    const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-tabs-'))
    const sockets = join(folder, 'sockets')
    mkdirSync(sockets, { mode: 0o700 })
    const settings = { ...process.env, ...env }
    const packaged = await packagedBrowser()
    const browser = await launchBrowser(packaged, join(folder, 'browser'), sockets, settings, [], isIsolated)
    return new RealTabs(folder, browser)
  }

  /** Where the browser can be spoken to. */
  get endpoint(): string {
    return this.#browser.relay.endpoint
  }

  async empty(env: Readonly<Record<string, string>> = {}, dress: TabSetup = UNDRESSED): Promise<Tab> {
    return await Tab.open(this.endpoint, env, dress)
  }

  /** Makes a tab and visits a page. */
  async visit(
    url: string,
    env: Readonly<Record<string, string>> = {},
    { isLoggedIn = false, dress = UNDRESSED as TabSetup } = {},
  ): Promise<Tab> {
    const tab = await this.empty(env, dress)
    await visitPage(tab, url, env, 60_000, isLoggedIn)
    return tab
  }

  /** The outcome of visiting a page that settles. */
  async seen(url: string): Promise<Visited> {
    const tab = await this.empty()
    const env = { CHROME_SETTLE_TIMEOUT: String(REST_MS / 1000) }
    return await visitPage(tab, url, env, 2 * REST_MS, false).finally(() => tab.close())
  }

  /** Makes a tab that shows a file, without any network. */
  async open(file: string): Promise<Tab> {
    const tab = await Tab.open(this.endpoint, {}, UNDRESSED)
    const cut = { offline: true, latency: 0, downloadThroughput: 0, uploadThroughput: 0 }
    await tab.send('Network.emulateNetworkConditions', cut)
    await visitPage(tab, `file://${file}`, {}, 60_000, false)
    return tab
  }

  async close(): Promise<void> {
    this.#browser.process.kill()
    await this.#browser.ended
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

/** Takes a PNG of a tab's whole page, with all frames, some of which a busy browser draws later. */
export async function pictureOf(tab: Tab): Promise<Buffer> {
  const { cssContentSize: page } = await tab.send('Page.getLayoutMetrics')
  const clip = { x: 0, y: 0, width: page.width, height: page.height, scale: 1 }
  for (let before = ''; ; ) {
    const { data } = await tab.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true, clip })
    if (data === before) return Buffer.from(data, 'base64')
    before = data
    await setTimeout(100)
  }
}

/** The largest difference between the colours of two pictures (PNG), of 255; computed in a tab. */
export async function differenceOf(tab: Tab, one: Buffer, other: Buffer): Promise<number> {
  const urls = [one, other].map((png) => `data:image/png;base64,${png.toString('base64')}`)
  return await tab.evaluate(`(async () => {
    const pixels = async (src) => {
      const image = Object.assign(new Image(), { src })
      await image.decode()
      const context = new OffscreenCanvas(image.width, image.height).getContext('2d')
      context.drawImage(image, 0, 0)
      return context.getImageData(0, 0, image.width, image.height).data
    }
    const [one, other] = await Promise.all(${JSON.stringify(urls)}.map(pixels))
    if (one.length !== other.length) return 255
    return one.reduce((most, value, i) => Math.max(most, Math.abs(value - other[i])), 0)
  })()`)
}
