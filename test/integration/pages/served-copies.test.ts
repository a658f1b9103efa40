// A copy that is looked at from its page asks nobody for anything, whatever it names; its file stays as it was served.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { attemptName, HOSTED_LOG } from '../../../src/base/attempt-paths.ts'
import { RowLog } from '../../../src/base/row-log.ts'
import { assetFiles } from '../../../src/pages/assets.ts'
import { outputsOf as outputsBy } from '../../../src/pages/model/outputs.ts'
import type { SnapshotPage } from '../../../src/pages/model/snapshot.ts'
import { onDisk } from '../../../src/pages/on-disk.ts'
import { snapshotPage } from '../../../src/pages/snapshot-page.ts'
import { Browser, noBrowser } from '../../support/browser.ts'
import { meaningsOf } from '../../support/meanings.ts'
import { eventually } from '../../support/program.ts'

const MEANINGS = meaningsOf('mercury', 'defuddle', 'trafilatura', 'media', 'gallerydl', 'youtubedl', 'forumdl')
const outputsOf = (made: Parameters<typeof outputsBy>[0]) => outputsBy(made, MEANINGS)

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** Everything by which a page makes a browser ask somebody, without a script. */
const asking = (at: string) => `<!doctype html>
<html><head><meta charset="utf-8"><title>x</title>
<meta http-equiv="refresh" content="0;url=http://${at}/refresh">
<link rel="preconnect" href="http://${at}"><link rel="dns-prefetch" href="//${at}">
<link rel="prefetch" href="http://${at}/prefetch"><link rel="preload" as="image" href="http://${at}/preload">
<link rel="preconnect stylesheet" href="http://${at}/style.css"><link rel="icon" href="http://${at}/icon">
<style>@import url(http://${at}/import.css); @font-face { font-family: f; src: url(http://${at}/font) }
body { background: url(//${at}/background); font-family: f } h1 { color: rgb(1, 2, 3) }</style></head>
<body background="http://${at}/body"><h1 id="top">Ferry</h1><p style="height: 5000px">down</p><h2 id="down">Down</h2>
<img src="http://${at}/img" srcset="http://${at}/set 2x"><picture><source srcset="//${at}/source"><img></picture>
<video src="http://${at}/video" poster="http://${at}/poster" preload="auto"></video>
<audio src="http://${at}/audio" preload="auto"></audio><track src="http://${at}/track">
<iframe src="http://${at}/frame"></iframe><iframe srcdoc="<img src=http://${at}/inner>"></iframe>
<object data="http://${at}/object"></object><embed src="http://${at}/embed">
<svg><image href="http://${at}/svg"/><use href="http://${at}/use#x"/></svg>
<input type="image" src="http://${at}/input"><script src="http://${at}/script"></script>
<a id="out" href="http://${at}/out" ping="http://${at}/ping" accesskey="o">out</a> <a id="in" href="#down">in</a>
<div id="host"><template shadowrootmode="open"><p>In the shade</p>
<template><link rel="preconnect stylesheet" href="http://${at}/deep"></template>
<link rel="preconnect stylesheet" href="http://${at}/shade"><iframe src="http://${at}/shade-frame"></iframe>
</template></div>
</body></html>`

const RUSSIAN = Buffer.concat([
  Buffer.from('<meta charset="windows-1251"><link rel="stylesheet" href="a%20b.css"><img src="p.gif"><p id="word">'),
  Buffer.from([0xcf, 0xe0, 0xf0, 0xee, 0xec]),
])

describe.skipIf(noBrowser)(`a copy in its page ${noBrowser}`, () => {
  let browser: Browser
  let dir: string
  let listener: Server
  let asked: string[]
  let address: string

  const write = (path: string, text: string | Buffer) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  const copy = "document.querySelector('#copy iframe').contentDocument"

  beforeAll(async () => {
    // Not a word is understood: a connection is too much already.
    listener = createServer((socket) => {
      asked.push('connection')
      socket.on('error', () => {}).on('data', (text) => asked.push(String(text).split('\r\n', 1)[0]!))
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    })
    await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve))
    address = `127.0.0.1:${(listener.address() as { port: number }).port}`
    asked = []
    dir = mkdtempSync(join(tmpdir(), 'archivebox-ts-copies-100%-'))
    for (const { path, text } of Object.values(assetFiles())) write(path, text)
    write('html/output.html', asking(address))
    write('wget/site/a.html', RUSSIAN)
    write('wget/site/a b.css', '#word { color: rgb(4, 5, 6) }')
    write('wget/site/p.gif', PIXEL)
    const html = { size: 1, mimetype: 'text/html' }
    const made = [
      { plugin: 'html', output: 'html/output.html', files: { 'output.html': html } },
      { plugin: 'wget', output: 'wget/site/a.html', files: { 'site/a.html': html } },
    ]
    const hooks = ['first', 'second'].map((plugin) => attemptName(plugin, 'on_Snapshot__1-x.js', 1))
    const log = new RowLog(join(dir, HOSTED_LOG), hooks, 'boot')
    for (const hook of hooks) log.append(hook, new Array<object>(100).fill({}))
    log.close()
    const page: SnapshotPage = {
      ...{ id: '0199-id', folder: '', url: 'http://example.com/', title: 'Ferry', outcome: 'archived', cause: null },
      ...{ httpStatus: 200, sealedAt: new Date(), depth: 0, tags: [], notes: null, bookmarkedAt: null, urlHash: '' },
      ...{
        crawl: { id: '0199-crawl', folder: 'crawl', isAway: false },
        isCopied: false,
        bytesAway: undefined,
        hashes: undefined,
      },
      outputs: outputsOf(made.map((one) => ({ ...one, status: 'succeeded' as const }))),
      results: ['first', 'second'].map((plugin) => ({
        ...{ plugin, hookName: 'on_Snapshot__1-x.js', attempt: 1, status: 'succeeded' as const, output: '' },
        ...{ files: {}, startedAt: null, endedAt: null, logs: { output: HOSTED_LOG } },
      })),
    }
    write('index.html', snapshotPage(page, onDisk(dir, '')))
    browser = await Browser.start()
  })
  afterAll(async () => {
    await browser?.close()
    await new Promise((resolve) => listener.close(resolve))
    rmSync(dir, { recursive: true, force: true })
  })

  it('asks nobody for anything, nor does its preview, and looks as it did', async () => {
    await browser.open(join(dir, 'index.html'), '#html/output.html')
    await browser.until(`${copy}?.querySelector('#top') && ${copy}.readyState === 'complete'`)
    await browser.until(
      "[...document.querySelectorAll('.preview iframe')].every((one) => one.contentDocument?.body?.firstChild)",
    )
    expect(await browser.evaluate(`getComputedStyle(${copy}.querySelector('#top')).color`)).toBe('rgb(1, 2, 3)')
    expect(await browser.evaluate(`${copy}.querySelector('#host').shadowRoot.textContent`)).toContain('In the shade')
    expect(readFileSync(join(dir, 'html/output.html'), 'utf8')).toBe(asking(address))

    // A click on what leads out does nothing, one on a place in the page goes there.
    await browser.evaluate(`${copy}.querySelector('#in').click()`)
    await browser.until(`${copy}.scrollingElement.scrollTop > 1000`)
    await browser.evaluate(`${copy}.querySelector('#out').click()`)
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(asked).toEqual([])

    // Opened as the file that it is, it does, and goes there in the end.
    await browser.send('Page.navigate', { url: pathToFileURL(join(dir, 'html/output.html')).href })
    await eventually(() => asked.includes('GET /refresh HTTP/1.1') && asked.includes('GET /img HTTP/1.1'))
  })

  it('has the styles and pictures beside it, and its own characters', async () => {
    // Typed by hand: the sign in the folder's name stands for nothing.
    await browser.send('Page.navigate', { url: `file://${join(dir, 'index.html')}` })
    await browser.until("document.querySelector('#copy iframe')")
    await browser.until(`${copy}?.querySelector('#word') && ${copy}.readyState === 'complete'`)
    expect(await browser.evaluate(`${copy}.querySelector('#word').textContent`)).toBe('Паром')
    await browser.until(`getComputedStyle(${copy}.querySelector('#word')).color === 'rgb(4, 5, 6)'`)
    expect(await browser.evaluate(`${copy}.images[0].naturalWidth`)).toBe(1)
  })

  it('leads to the part of a hook in the log that its hooks share', async () => {
    await browser.open(join(dir, 'index.html'))
    const links = await browser.evaluate<string[]>('[...document.links].map(({ href }) => href)')
    const [first, second] = links.filter((link) => link.includes(HOSTED_LOG))
    const placeOf = async (link: string) => {
      await browser.open(join(dir, HOSTED_LOG), new URL(link).hash)
      await browser.until('scrollY > 1000')
      return await browser.evaluate<number>('scrollY')
    }
    expect((await placeOf(second!)) - (await placeOf(first!))).toBeGreaterThan(1000)
  })
})
