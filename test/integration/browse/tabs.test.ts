import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AppError } from '../../../src/base/errors.ts'
import { inPage } from '../../../src/browse/browser/in-page.ts'
import { partsOf } from '../../../src/browse/browser/page-parts.ts'
import { singleFile } from '../../../src/browse/browser/single-file.ts'
import type { Tab } from '../../../src/browse/browser/tab.ts'
import { visitPage } from '../../../src/browse/browser/visit-page.ts'
import { coveredPages, KEPT } from '../../support/covered-pages.ts'
import { foldedPage } from '../../support/folded-page.ts'
import { latePages } from '../../support/late-pages.ts'
import { LIB, noPackage } from '../../support/packaged-browser.ts'
import { differenceOf, pictureOf, RealTabs } from '../../support/real-tabs.ts'
import { richPage } from '../../support/rich-page.ts'
import { type Site, startSite } from '../../support/site.ts'

const restless = { '/restless': '<!doctype html><p>x<script>setInterval(() => fetch("/restless"), 50)</script>' }

describe.skipIf(noPackage)(`what a tab shows${noPackage}`, () => {
  let tabs: RealTabs
  let site: Site
  const asked = new Set<string>()
  beforeAll(async () => {
    tabs = await RealTabs.start()
    const [font = ''] = globSync(join(LIB, 'chromium-*', 'fonts', '**', '*.ttf'))
    site = await startSite({
      // With the square of their length, each would take minutes.
      '/slow-to-read': `<!doctype html><p>read</p><picture><img srcset="${'a'.repeat(1_000_000)} b"></picture>
        <style>${'"\\'.repeat(500_000)}</style><style>${'url('.repeat(250_000)}</style>`,
      ...richPage(readFileSync(font)),
      ...foldedPage(asked),
      ...coveredPages,
      ...latePages,
      ...restless,
    })
  })
  afterAll(async () => {
    await tabs.close()
    await site.close()
  })

  it('is the same to the pixel in the single file, from the disk and without a network', async () => {
    const tab = await tabs.visit(`${site.url}/rich`)
    const before = site.hits('/pic')
    expect(site.hits('/here'), 'the file of a font that this machine has').toBe(1)
    const html = [...singleFile(await partsOf(tab, 1e8), site.url)].join('')
    expect(site.hits('/pic'), 'nothing is requested again').toBe(before)
    expect(html.includes('url("data:font/ttf;base64,')).toBe(true)
    expect(/<script|hunter2/.exec(html)?.[0]).toBeUndefined()
    const file = join(tabs.folder, 'single.html')
    writeFileSync(file, html)
    const copy = await tabs.open(file)
    const [shown, shownByCopy] = [await pictureOf(tab), await pictureOf(copy)]
    expect(await differenceOf(tab, shown, shownByCopy)).toBeLessThan(3) // Edges are rounded now and then.
    await Promise.all([tab.close(), copy.close()])
  })
  it('is all of the page: boxes that scroll, what is folded, and what loads when it is seen', async () => {
    const tab = await tabs.visit(`${site.url}/folded`)
    const inBoxes = ['along', 'down'].flatMap((box) => Array.from({ length: 12 }, (_, i) => `${box}${i}`))
    expect([...asked].toSorted()).toEqual([...inBoxes, 'forgotten', 'late'].toSorted())
    const text = await tab.evaluate<string>('document.body.innerText')
    for (const folded of ['behind a button', 'behind a link', 'in a section', 'in details'])
      expect(text.includes(folded), folded).toBe(true)
    for (const menu of ['in a menu', 'in a drop-down menu']) expect(text.includes(menu), menu).toBe(false)
    expect(site.hits('/elsewhere')).toBe(0)
    expect(await tab.evaluate('[list.children.length, scrollY, along.scrollLeft, down.scrollTop]')).toEqual([
      3, 0, 0, 0,
    ])
    await tab.close()
  })

  it('is what comes late, where nothing else is there', async () => {
    const words = async (path: string) => {
      const tab = await tabs.visit(site.url + path)
      return await tab.evaluate('document.body.innerText').finally(() => tab.close())
    }
    expect(await Promise.all(['/splash', '/spins', '/says-loading'].map(words))).toEqual(Array(3).fill('late words'))
  })

  it.each(['Page.stopLoading', 'Page.getLayoutMetrics'])(
    'is there when the browser refuses %s, as it does while one document gives way to the next',
    async (refused) => {
      const tab = await tabs.empty()
      const { send } = tab.session
      let left = 2
      const refusing = async (method: string, ...params: []) => {
        if (method === refused && left-- > 0) throw new AppError('the browser refused: Not attached to an active page')
        return await send(method as 'Page.stopLoading', ...params)
      }
      Object.assign(tab.session, { send: refusing })
      await visitPage(tab, `${site.url}/restless`, { CHROME_SETTLE_TIMEOUT: '1' }, 60_000, false)
      expect(left).toBeLessThan(0)
      await tab.close()
    },
  )

  it('is more than the beginning of a feed that has no end', async () => {
    const before = site.hits('/more')
    const tab = await tabs.visit(`${site.url}/feed`)
    expect(site.hits('/more') - before).toBeGreaterThan(8)
    await tab.close()
  })

  it('is more than the beginning of a feed whose server takes its time, and comes to rest', async () => {
    const { settled } = await tabs.seen(`${site.url}/slow-feed`)
    expect([settled, site.hits('/slow-more') > 3]).toEqual([true, true])
  })

  it('is not covered by a banner, which stays in the document', async () => {
    const covered = `[...document.querySelectorAll('#veil, #banner')].filter((layer) => layer.checkVisibility()).length`
    const tab = await tabs.visit(`${site.url}/folded`)
    const shown = await tabs.visit(`${site.url}/folded`, { CHROME_HIDE_OVERLAYS: 'False' })
    expect([await tab.evaluate(covered), await shown.evaluate(covered)]).toEqual([0, 2])
    expect(await tab.evaluate(inPage('serialize'))).toContain('We use cookies.')
    await Promise.all([tab.close(), shown.close()])
  })

  it('is not taken for a banner, or for an overlay', async () => {
    const isSeen = `document.querySelector('#own').checkVisibility()`
    const isHidden = async (path: string) => {
      const tab = await tabs.visit(`${site.url}${path}`)
      const seen = await tab.evaluate<boolean>(isSeen)
      await tab.close()
      return seen ? [] : [path]
    }
    const hidden = (await Promise.all(Object.keys(KEPT).map(isHidden))).flat()
    expect(hidden).toEqual([])
  })

  it('is what nobody has changed: nothing is sent, deleted or left by what opens it', async () => {
    const tab = await tabs.visit(`${site.url}/pressed`)
    const known = await tabs.visit(`${site.url}/pressed`, {}, { isLoggedIn: true })
    await new Promise((resolve) => setTimeout(resolve, 1000)) // So long a script waits before it leaves the page.
    expect(['/bought', '/deleted', '/asked', '/left'].filter((path) => site.hits(path) > 0)).toEqual([])
    const opened = `['in details', 'behind a button'].filter((part) => document.body.innerText.includes(part))`
    expect(await tab.evaluate(opened)).toEqual(['in details', 'behind a button'])
    expect(await known.evaluate(opened), 'with a log-in nothing is pressed').toEqual(['in details'])
    await Promise.all([tab.close(), known.close()])
  })

  it('is at its end, where it fades in', async () => {
    const tab = await tabs.visit(`${site.url}/fades`)
    await tab.evaluate(`document.body.animate({ color: ['red', 'blue'] }, 9000).playbackRate = 0`) // It has no end.
    await tab.evaluate(inPage('finish'))
    expect(await tab.evaluate(`getComputedStyle(document.querySelector('p')).opacity`)).toBe('1')
    await tab.close()
  })

  it('comes to rest and can be printed, whatever its style sheets and elements are called', async () => {
    const tab = await tabs.visit(`${site.url}/named`)
    await tab.evaluate(inPage('unpin'))
    expect((await tabs.seen(`${site.url}/named`)).settled).toBe(true)
    await tab.close()
  })

  it('is not kept waiting by addresses and styles that are made to be slow', async () => {
    const tab = await tabs.visit(`${site.url}/slow-to-read`)
    const html = [...singleFile(await partsOf(tab, 1e8), site.url)].join('')
    expect(html).toContain('<p>read</p>')
    await tab.close()
  })

  it('is nothing, when the tab ends before all of it is read', async () => {
    const tab = await tabs.visit(`${site.url}/frames-of-rich`)
    const { send } = tab
    const crashing: Tab['send'] = async (method, ...params) => {
      if (method === 'DOM.describeNode') await send('Page.crash')
      return await send(method, ...params)
    }
    await expect(partsOf(Object.assign(tab, { send: crashing }), 1e8)).rejects.toThrow('the page crashed its tab')
    await tab.close()
  })

  it('ends, when the page does not', async () => {
    const tab = await tabs.visit(`${site.url}/endless`)
    expect(await tab.evaluate('document.body.children.length')).toBeLessThan(60)
    await tab.close()
  })
})
