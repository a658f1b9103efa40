import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import { AppError } from '../../../src/base/errors.ts'
import { BrowserGone, Cdp } from '../../../src/browse/browser/cdp.ts'
import { ENDED } from '../../../src/browse/browser/turns.ts'
import { Visit } from '../../../src/browse/visit.ts'
import dom from '../../../src/plugins/dom/on_Snapshot__53_dom.ts'
import markdown from '../../../src/plugins/markdown/on_Snapshot__57_markdown.ts'
import responses from '../../../src/plugins/responses/on_Snapshot__82_responses.ts'
import screenshot from '../../../src/plugins/screenshot/on_Snapshot__51_screenshot.ts'
import title from '../../../src/plugins/title/on_Snapshot__54_title.ts'
import wacz from '../../../src/plugins/wacz/on_Snapshot__81_wacz.ts'
import warc from '../../../src/plugins/warc/on_Snapshot__80_warc.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-with-tab-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(path: string, text = ''): void {
  mkdirSync(join(folder, path, '..'), { recursive: true })
  writeFileSync(join(folder, path), text)
}

/** What a hook in a row says that finds these files, of its crawl and of its page. */
async function said(
  hook: typeof dom,
  plugin: string,
  { visit = new Visit([plugin]), env = {} }: { readonly visit?: Visit; readonly env?: object } = {},
): Promise<string> {
  mkdirSync(join(folder, 'page', plugin), { recursive: true })
  try {
    const { status, output } = await hook.run({
      url: 'http://127.0.0.1:1/',
      outputDir: join(folder, 'page', plugin),
      env: { CRAWL_DIR: join(folder, 'crawl'), ...env },
      signal: new AbortController().signal,
      visit,
      emit: () => {},
      log: () => {},
    })
    return `${status}: ${output}`
  } finally {
    await visit.close()
  }
}

describe('a capture without a browser', () => {
  it('is skipped where none was started for the crawl, or none could be, for the reason that is noted', async () => {
    expect(await said(dom, 'dom')).toMatch(/^skipped: browser not found: /)
    write('crawl/chrome/no-browser.txt', 'none here\n')
    expect(await said(dom, 'dom')).toBe('skipped: none here')
  })

  it('fails where there was one, so that it is started again; as a consequence where its page says so', async () => {
    mkdirSync(join(folder, 'crawl', 'chrome'), { recursive: true })
    expect(await said(dom, 'dom')).toBe('failed: the browser ended')
    mkdirSync(join(folder, 'page', 'chrome'))
    expect(await said(dom, 'dom')).toBe('skipped: needs chrome, which failed')
    write('page/chrome/navigation.json', '{}') // By an earlier worker, in an earlier browser.
    expect(await said(dom, 'dom')).toBe('failed: the browser ended')
  })

  it('is no record of a visit, where the page has one', async () => {
    mkdirSync(join(folder, 'crawl', 'chrome'), { recursive: true })
    expect(await said(warc, 'warc')).toBe('noresults: nothing was received')
    mkdirSync(join(folder, 'page', 'chrome'))
    expect(await said(warc, 'warc')).toBe('failed: the browser ended')
  })
})

describe('a file', () => {
  const SHOWN = /^skipped: browser not found/
  const NOT_SHOWN = /^noresults: not a page: staticfile/
  it.each([
    ['image/svg+xml', {}, SHOWN],
    ['application/atom+xml; charset=utf-8', {}, SHOWN],
    ['application/json', {}, SHOWN],
    ['text/plain', {}, SHOWN],
    ['text/plain', { headers: { 'content-type': 'text/plain', 'content-disposition': 'attachment' } }, NOT_SHOWN],
    ['text/plain', { status: 404 }, NOT_SHOWN],
    ['image/png', {}, NOT_SHOWN],
    ['text/csv', {}, NOT_SHOWN],
  ])('of type %s %j has a picture: %s', async (type, more, expected) => {
    write('page/headers/headers.json', JSON.stringify({ status: 200, headers: { 'content-type': type }, ...more }))
    write('page/staticfile/x', 'file')
    mkdirSync(join(folder, 'page', 'html'))
    expect(await said(screenshot, 'screenshot')).toMatch(expected)
    expect(await said(dom, 'dom')).toMatch(NOT_SHOWN)
  })

  it('that is long, or broke off, has none', async () => {
    write('page/headers/headers.json', JSON.stringify({ status: 200, headers: { 'content-type': 'text/plain' } }))
    write('page/staticfile/x', 'x'.repeat(1024 * 1024 + 1))
    expect(await said(screenshot, 'screenshot')).toMatch(NOT_SHOWN)
    rmSync(join(folder, 'page/staticfile/x'))
    write('page/staticfile/truncated-x', 'x')
    expect(await said(screenshot, 'screenshot')).toMatch(NOT_SHOWN)
  })
})

it('a page that others keep from the browser is taken when it has its turn, not as it was served', async () => {
  const path = join(folder, 'socket')
  const http = createServer().listen(path)
  const server = new WebSocketServer({ server: http }) // It answers nothing.
  await once(http, 'listening')
  write('crawl/chrome/cdp_url.txt', `ws+unix:${path}:/`)
  write('page/html/output.html', '<title>served</title>')
  const visit = new Visit(['dom', 'title', 'warc'])
  const env = { CHROME_TIMEOUT: '1' }
  expect(await said(title, 'title', { visit, env })).toBe('succeeded: served')
  for (const [plugin, hook] of Object.entries({ dom, warc }))
    expect(await said(hook, plugin, { visit, env })).toBe('backoff: other pages use the browser exclusively')
  for (const path of ['warc/index.cdxj', 'warc/data.warc.gz', 'readability/content.html']) write(`page/${path}`) // Old.
  for (const [plugin, hook] of Object.entries({ title, markdown }))
    expect(await said(hook, plugin, { visit, env })).toBe('skipped: needs dom, which failed')
  for (const [plugin, hook] of Object.entries({ wacz, responses }))
    expect(await said(hook, plugin, { visit, env })).toBe('skipped: needs warc, which failed')
  expect(await said(title, 'title', { visit: new Visit(['title']) })).toBe('succeeded: served')
  for (const client of server.clients) client.terminate()
  http.close()
})

it('a conversation that is about to end says why it does', async () => {
  const path = join(folder, 'socket')
  const server = new WebSocketServer({ noServer: true })
  const http = createServer().listen(path)
  http.on('upgrade', (request, socket, head) =>
    server.handleUpgrade(request, socket, head, (client) => client.close(ENDED, 'it took too much')),
  )
  await once(http, 'listening')
  const cdp = await Cdp.connect(`ws+unix:${path}:/`)
  while (cdp.isOpen) await setImmediate()
  const why = { message: 'the browser ended: it took too much', isOwnEnd: true }
  await expect(cdp.send('Browser.getVersion')).rejects.toMatchObject(why)
  await expect(cdp.send('Browser.getVersion')).rejects.toMatchObject(why)
  http.close()
})

it.each([
  ['Failed to create browser context.', BrowserGone, 'the browser ended'],
  ['Failed to find browser context with id 7', BrowserGone, 'the browser ended'],
  ['No target with given id found', BrowserGone, 'the browser ended'],
  ['Invalid parameters', AppError, 'the browser refused: Invalid parameters'],
])('a browser that answers %j is one that leaves, or refuses', async (message, kind, said) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  server.on('connection', (socket) =>
    socket.on('message', (text) => {
      const { id } = JSON.parse(String(text)) as { id: number }
      socket.send(JSON.stringify({ id, error: { message } }))
    }),
  )
  await once(server, 'listening')
  const cdp = await Cdp.connect(`ws://127.0.0.1:${(server.address() as { port: number }).port}`)
  const error = await cdp.send('Browser.getVersion').catch((error: unknown) => error as Error)
  expect([(error as Error).constructor, (error as Error).message]).toEqual([kind, said])
  cdp.close()
  server.close()
})
