import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { writeWhole } from '../../../src/base/whole-file.ts'
import { Cdp } from '../../../src/browse/browser/cdp.ts'
import { launchBrowser } from '../../../src/browse/browser/launch.ts'
import type { RunningBrowser } from '../../../src/browse/browser/start-browser.ts'
import type { Tab } from '../../../src/browse/browser/tab.ts'
import { ALONE } from '../../../src/browse/browser/turns.ts'
import { Visit } from '../../../src/browse/visit.ts'
import { failed, succeeded } from '../../../src/plugins/base/hook.ts'
import { ENDPOINT, withTab } from '../../../src/plugins/base/with-tab.ts'
import { newFolder } from '../../support/folders.ts'
import { noPackage, packagedBrowser } from '../../support/packaged-browser.ts'
import { type Site, startSite } from '../../support/site.ts'

describe.skipIf(noPackage)(`pages that share a browser${noPackage}`, () => {
  const folder = newFolder()
  const short = join(folder, 's')
  const chrome = join(folder, 'crawl', 'chrome')
  let site: Site
  let browser: RunningBrowser
  const start = async () => {
    browser = await launchBrowser(await packagedBrowser(), join(folder, 'browser'), short, process.env)
    writeWhole(chrome, ENDPOINT, browser.relay.endpoint)
  }
  const end = async () => {
    const { ended, relay, process: child } = browser
    relay.close('it took too much')
    child.kill('SIGKILL')
    await ended
  }
  beforeAll(async () => {
    for (const each of [short, chrome]) mkdirSync(each, { recursive: true })
    site = await startSite({ '/': '<title>page</title>' })
    await start()
  })
  afterAll(async () => {
    browser.process.kill()
    await Promise.all([browser.ended, site.close()])
    rmSync(folder, { recursive: true, maxRetries: 10 })
  })

  /** A page whose tab is used in a row of hooks: how it ends, in words. */
  async function page(use: (tab: Tab) => Promise<unknown>, seconds = 60, path = '/'): Promise<string> {
    const visit = new Visit([])
    const end = await hook(visit, use, seconds, path)
    await visit.close()
    return end
  }

  /** One hook of a row. */
  async function hook(visit: Visit, use: (tab: Tab) => Promise<unknown>, seconds: number, path = '/'): Promise<string> {
    const context = {
      ...{ url: site.url + path, outputDir: join(folder, 'page', 'x'), visit, signal: AbortSignal.timeout(60_000) },
      env: { CRAWL_DIR: join(folder, 'crawl'), CHROME_TIMEOUT: `${seconds}`, CHROME_SETTLE_TIMEOUT: '1' },
      ...{ emit() {}, log() {}, onEnd() {}, spend() {} },
    }
    const used = withTab(context, async ({ tab }) => {
      await use(tab)
      return succeeded(await tab.evaluate<string>('document.title'))
    })
    const { status, output } = await used.catch(({ message }: Error) => failed(message))
    return `${status}: ${output}`
  }

  it('are taken again one by one when it ends, and only the one that ends it fails', async () => {
    const all = Promise.withResolvers<void>()
    const most = [0, 0]
    let inside = 0
    let round = 0
    const share = async (then: () => Promise<unknown>) => {
      most[round] = Math.max(most[round]!, ++inside)
      if (inside === 3) all.resolve()
      await all.promise
      await then()
      inside--
    }
    const innocent = () => share(() => (round === 0 ? browser.ended : sleep(500)))
    const guilty = () =>
      share(async () => {
        await end()
        round = 1
        await start()
      })
    const ends = await Promise.all([page(innocent), page(guilty), page(innocent)])
    expect(ends).toEqual(['succeeded: page', 'failed: the browser ended: it took too much', 'succeeded: page'])
    expect(most, 'at once').toEqual([3, 1])
  })

  it('come later when others have it for themselves for too long', async () => {
    const { relay } = browser
    const alone = await Cdp.connect(relay.endpoint + ALONE)
    await alone.send('Browser.getVersion')
    expect(await page(async () => {}, 5)).toBe('backoff: other pages use the browser exclusively')
    const waiting = page(async () => {})
    alone.close()
    expect(await waiting).toBe('succeeded: page')
  })

  it('come later when the wait has cost them the time that they needed', async () => {
    const alone = await Cdp.connect(browser.relay.endpoint + ALONE)
    await alone.send('Browser.getVersion')
    const waiting = page(async () => {}, 60, '/slow')
    await sleep(500) // It waits by then.
    // Of its 60 s: not by the real clock, by which a busy machine would take too many of them.
    const now = performance.now.bind(performance)
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 53_000)
    alone.close()
    expect(await waiting.finally(() => clock.mockRestore())).toBe(
      'backoff: too little time was left after the wait for the browser',
    )
  })

  it('are visited again for the next capture, when one has crashed their tab twice', async () => {
    const visit = new Visit([])
    const crash = async (tab: Tab) => await tab.send('Page.crash')
    const ends: string[] = []
    for (const use of [crash, async () => {}, crash, crash, async () => {}]) ends.push(await hook(visit, use, 60))
    await visit.close()
    const crashed = 'failed: the page crashed its tab'
    expect(ends).toEqual([crashed, 'succeeded: page', crashed, crashed, crashed])
  })

  it('do not wait for themselves, when the tab ends that had the browser for itself', async () => {
    const visit = new Visit([])
    const first = [() => end().then(start), (tab: Tab) => tab.send('Page.crash')]
    for (const trouble of first) {
      let visits = 0
      const ends = await hook(visit, async (tab) => (visits++ === 0 ? await trouble(tab) : undefined), 60)
      expect([ends, visits]).toEqual(['succeeded: page', 2])
    }
    await visit.close()
  })
})
