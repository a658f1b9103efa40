import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { partsOf } from '../../src/plugins/base/browser/page-parts.ts'
import { singleFile } from '../../src/plugins/base/browser/single-file.ts'
import { differenceOf, noPackage, pictureOf, RealTabs } from '../support/real-tabs.ts'
import { richPage } from '../support/rich-page.ts'
import { type Site, startSite } from '../support/site.ts'

describe.skipIf(noPackage)(`what a tab shows${noPackage}`, () => {
  let tabs: RealTabs
  let site: Site
  beforeAll(async () => {
    tabs = await RealTabs.start()
    const [font = ''] = globSync(join(tabs.folder, 'chromium-*', 'fonts', '**', '*.ttf'))
    site = await startSite(richPage(readFileSync(font)))
  })
  afterAll(async () => {
    await tabs.close()
    await site.close()
  })

  it('is the same to the pixel in the single file, from the disk and without a network', async () => {
    const tab = await tabs.visit(`${site.url}/rich`)
    const before = site.hits('/pic')
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
})
