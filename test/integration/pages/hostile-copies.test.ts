// What is made of hostile pages neither runs nor asks, and what was served does not in its page: opened in a whole
// browser, from the disk and from a server, with a recorder on the port that everything names.
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mimeOf } from '../../../src/base/mime.ts'
import { inPage } from '../../../src/browse/browser/in-page.ts'
import { partsOf } from '../../../src/browse/browser/page-parts.ts'
import { singleFile } from '../../../src/browse/browser/single-file.ts'
import { assetFiles } from '../../../src/pages/assets.ts'
import { outputsOf as outputsBy } from '../../../src/pages/model/outputs.ts'
import type { SnapshotPage } from '../../../src/pages/model/snapshot.ts'
import { onDisk } from '../../../src/pages/on-disk.ts'
import { snapshotPage } from '../../../src/pages/snapshot-page.ts'
import { articleDocument } from '../../../src/plugins/readability/article-document.ts'
import { inertArticle } from '../../../src/plugins/readability/inert-article.ts'
import { Browser, noBrowser } from '../../support/browser.ts'
import { hostileSite } from '../../support/hostile-copies.ts'
import { meaningsOf } from '../../support/meanings.ts'
import { noPackage } from '../../support/packaged-browser.ts'
import { RealTabs } from '../../support/real-tabs.ts'

const MEANINGS = meaningsOf('mercury', 'defuddle', 'trafilatura', 'media', 'gallerydl', 'youtubedl', 'forumdl')
const outputsOf = (made: Parameters<typeof outputsBy>[0]) => outputsBy(made, MEANINGS)

/** Addresses that lead out of a folder, by which some systems ask a host. */
const LEADING = /file:[\\/]+127[^"]*|["'(]\s*(?:\/\/|\\\\)+127[^"]*/gi
/** So long a page may take to ask for something after it has loaded. */
const LATER_MS = 150

/** An article of which everything is told by the page. */
const headOf = (text: string, url: string) => ({
  ...{ title: text.slice(0, 5_000), url, byline: text.slice(-5_000), siteName: text.slice(200, 5_000) },
  ...{ lang: text.slice(0, 300), dir: text.slice(-300), publishedTime: text.slice(0, 100), kept: 0.4 },
})

describe.skipIf(noBrowser || noPackage)(`copies of hostile pages ${noBrowser}${noPackage}`, () => {
  let browser: Browser
  let dir: string
  /** What hostile pages name, and what serves the archive. */
  let site: Server
  let archive: Server
  let asked: string[] = []
  let ran = 0
  let names: string[]

  const at = (server: Server) => `127.0.0.1:${(server.address() as AddressInfo).port}`
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  const urlOf = (from: string, path: string) =>
    from === 'the disk' ? pathToFileURL(join(dir, path)).href : `http://${at(archive)}/${path}`

  const show = async (url: string) => {
    await browser.send('Page.navigate', { url: 'about:blank' })
    await browser.until("location.href === 'about:blank'")
    asked = []
    ran = 0
    await browser.send('Page.navigate', { url })
    await browser.until(`location.href !== 'about:blank' && document.readyState === 'complete'`)
    await new Promise((resolve) => setTimeout(resolve, LATER_MS))
  }

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'archivebox-ts-hostile-'))
    site = createServer((request, response) => {
      asked.push(request.url ?? '')
      const page = pages[request.url?.slice(1) ?? '']
      const text = page ?? files[request.url ?? '']
      const type = page === undefined ? mimeOf(request.url ?? '') : 'text/html'
      // A document that is named leads nowhere.
      if (text === undefined) response.writeHead(204).end()
      else response.writeHead(200, { 'content-type': type }).end(text)
    })
    site.on('connection', () => asked.push('a connection'))
    archive = createServer((request, response) => {
      const path = (request.url ?? '/').slice(1)
      if (/^favicon/.test(path)) return response.writeHead(404).end()
      try {
        const text = readFileSync(join(dir, decodeURIComponent(path)))
        response.writeHead(200, { 'content-type': mimeOf(path) }).end(text)
      } catch {
        // Beside it may lie what it names.
        if (!names.some((name) => path.startsWith(`${name}/`))) asked.push(`of the archive: ${path}`)
        response.writeHead(404).end()
      }
      return response
    })
    for (const server of [site, archive]) {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
    }
    const { pages, files } = hostileSite(at(site))
    names = Object.keys(pages)
    const tabs = await RealTabs.start()
    for (const name of names) {
      const tab = await tabs.visit(`http://${at(site)}/${name}`, { CHROME_SETTLE_TIMEOUT: '5' })
      const parts = await partsOf(tab, 1e8)
      write(`${name}/singlefile/singlefile.html`, [...singleFile(parts, `http://${at(site)}/${name}`)].join(''))
      write(`${name}/dom/output.html`, await tab.evaluate<string>(inPage('serialize')))
      // All of it, also what no article would have.
      const inner = await tab.evaluate<string>('document.documentElement.innerHTML')
      for (const [view, text] of Object.entries({ seen: inner, served: pages[name]! }))
        write(
          `${name}/readability/${view}.html`,
          articleDocument(inertArticle(text), headOf(text, `http://${at(site)}/`)),
        )
      write(`${name}/html/output.html`, pages[name]!)
      await tab.close()
    }
    await tabs.close()
    for (const { path, text } of Object.values(assetFiles())) write(path, text)
    for (const name of names) writeIndex(name)
    browser = await Browser.start()
    browser.listen((method, { args }) => {
      if (method === 'Runtime.consoleAPICalled' && JSON.stringify(args).includes('/ran/')) ran += 1
    })
  })
  afterAll(async () => {
    await browser?.close()
    for (const server of [site, archive]) {
      server.closeAllConnections()
      server.close()
    }
    rmSync(dir, { recursive: true, force: true })
  })

  const writeIndex = (name: string) => {
    const made = ['singlefile/singlefile.html', 'dom/output.html', 'html/output.html'].map((output) => {
      const [plugin = '', file = ''] = output.split('/')
      const files = { [file]: { size: 1, mimetype: 'text/html' } }
      return { plugin, output, files, status: 'succeeded' as const }
    })
    const page: SnapshotPage = {
      ...{ id: '0199-id', folder: name, url: 'http://example.com/', title: name, outcome: 'archived', cause: null },
      ...{ httpStatus: 200, sealedAt: new Date(), depth: 0, tags: [], notes: null, bookmarkedAt: null, urlHash: '' },
      ...{
        crawl: { id: '0199-crawl', folder: 'crawl', isAway: false },
        isCopied: false,
        bytesAway: undefined,
        hashes: undefined,
        results: [],
        outputs: outputsOf(made),
      },
    }
    write(`${name}/index.html`, snapshotPage(page, onDisk(dir, name)))
  }

  it('would run and ask, as they were served', async () => {
    await show(urlOf('the disk', 'parts/dom/output.html'))
    expect([ran > 10, asked.length > 20]).toEqual([true, true])
  })

  it.each(['the disk', 'a server'])('do not, opened by themselves from %s', async (from) => {
    const found: Record<string, unknown> = {}
    for (const name of names) {
      for (const view of ['seen', 'served']) {
        await show(urlOf(from, `${name}/readability/${view}.html`))
        if (ran > 0 || asked.length > 0) found[`${name} ${view} in the reader view`] = { ran, asked }
      }
      await show(urlOf(from, `${name}/singlefile/singlefile.html`))
      if (ran > 0 || asked.length > 0) found[name] = { ran, asked }
      // Nothing has swallowed what comes behind it.
      const end = `document.querySelector('body > h2')?.textContent`
      if (name.startsWith('parts')) expect(await browser.evaluate(end)).toBe('The end')
    }
    expect(found).toEqual({})
  })

  it.each(['the disk', 'a server'])('do not, in their page from %s', async (from) => {
    const found: Record<string, unknown> = {}
    const leading: string[] = []
    for (const name of names) {
      await show(urlOf(from, `${name}/index.html`))
      const links = await browser.evaluate<number>(`document.querySelectorAll('.strip a[data-shown]').length`)
      for (let link = 0; link < links; link += 1) {
        await browser.evaluate(`document.querySelectorAll('.strip a[data-shown]')[${link}].click()`)
        await browser.until(`document.querySelector('#copy iframe:is([src], [srcdoc])')`)
        await new Promise((resolve) => setTimeout(resolve, LATER_MS))
        const text = await browser.evaluate<string>(`document.querySelector('#copy iframe').srcdoc`)
        expect(text).not.toBe('This copy cannot be shown.')
        leading.push(...(text.match(LEADING) ?? []).map((address) => `${name}: ${address}`))
      }
      expect(links).toBe(3)
      if (ran > 0 || asked.length > 0) found[name] = { ran, asked }
    }
    expect([found, leading]).toEqual([{}, []])
  })
})
