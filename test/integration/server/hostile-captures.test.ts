// Captures that try to reach the app, the session, another capture or somebody else reach nobody, in a frame of the app
// and by themselves, in a real browser; and they are shown. Without what keeps them they would.
import { once } from 'node:events'
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mimeOf } from '../../../src/base/mime.ts'
import { CopyAddresses } from '../../../src/server/content/addresses.ts'
import { answerContent } from '../../../src/server/content/listener.ts'
import { Browser, noBrowser } from '../../support/browser.ts'
import { type Copies, copiesOf, makeCapture } from '../../support/captures.ts'
import { forwarder } from '../../support/forwarder.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import {
  type HostileCapture,
  hostileCaptures,
  leadingElsewhere,
  PIXEL,
  type Targets,
} from '../../support/hostile-captures.ts'
import { opened } from '../../support/opened.ts'
import { eventually } from '../../support/program.ts'
import { type Served, serveHome } from '../../support/served.ts'

const homes = useHomes()
/** So long a page may take to ask for something after it has loaded. */
const LATER_MS = 150
/** What a capture is that reaches somebody takes no longer. */
const REACHED_MS = 15_000
/** So many are shown at once. */
const FRAMES = 6
/** The time for them to load, and how often they are tried on a busy machine. */
const FRAMES_MS = 15_000
const TRIES = 3

/** A page that tells what it knows of where somebody comes from. */
const TELLS = `<script>fetch('/told?opener=' + !!opener + '&referrer=' + document.referrer)</script>`

async function clickInTheMiddle(browser: Browser): Promise<boolean> {
  for (const type of ['mousePressed', 'mouseReleased'])
    await browser.send('Input.dispatchMouseEvent', { type, x: 300, y: 300, button: 'left', clickCount: 1 })
  return true
}

describe.skipIf(noBrowser)(`hostile captures ${noBrowser}`, () => {
  let home: TestHome
  let served: Served
  let copies: Copies
  let browser: Browser
  let targets: Targets
  let captures: Readonly<Record<string, HostileCapture>>
  /** Somebody else; and whoever serves the same files as anybody would. */
  let third: HttpServer
  let plain: HttpServer
  const forwarders: Server[] = []
  const ids: Record<string, string> = {}
  let otherId: string
  let otherHost: string
  /** Whom something has reached, and what was asked for of the own captures. */
  let reached: Record<keyof Targets, string[]>
  let shown: string[]
  let referrers: string[]

  const originOf = (server: HttpServer, host = '127.0.0.1') =>
    `http://${host}:${(server.address() as AddressInfo).port}`
  const forget = () => {
    reached = { third: [], app: [], other: [] }
    shown = []
    referrers = []
  }
  const later = async () => await new Promise((resolve) => setTimeout(resolve, LATER_MS))
  const logIn = async () => {
    const [name, value] = served.cookie.split('=')
    await browser.send('Network.setCookie', { url: served.origin, name, value, httpOnly: true, sameSite: 'Strict' })
  }
  const cookies = async () => {
    const all = (await browser.send('Storage.getCookies')) as { cookies: Record<'domain' | 'name' | 'value', string>[] }
    return all.cookies.map(({ domain, name, value }) => `${domain} ${name}=${value}`)
  }
  const blank = async () => {
    await browser.send('Page.navigate', { url: 'about:blank' })
    await browser.until("location.href === 'about:blank'")
    // A connection that is there would be used again, and not be seen.
    third.closeAllConnections()
    await later()
    forget()
  }

  beforeAll(async () => {
    forget()
    home = await homes.original()
    served = await serveHome(home)
    copies = await copiesOf(home, served)
    third = createServer((request, response) => {
      reached.third.push(request.url ?? '')
      referrers.push(request.headers.referer ?? '')
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(request.url === '/asked' ? TELLS : '<p>third')
    })
    // Not a word is understood: a connection is too much already.
    third.on('connection', () => reached.third.push('a connection'))
    plain = createServer((request, response) => {
      const [, name = '', ...path] = decodeURIComponent(request.url ?? '').split('/')
      const text = captures[name]?.files[path.join('/').split('?', 1)[0]!]
      const type = /\.xhtml$/.test(path.join()) ? 'application/xhtml+xml' : mimeOf(path.join('/'))
      if (text === undefined) response.writeHead(404).end()
      else response.writeHead(200, { 'Content-Type': /xsl$/.test(path.join()) ? 'text/xsl' : type }).end(text)
    })
    for (const server of [third, plain]) {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
    }
    const other = await makeCapture(home, {
      'title/title.txt': 'secret',
      'html/ok.gif': PIXEL,
      'html/ok.css': 'p {}',
    })
    otherId = other.id
    otherHost = new URL(copies.base(other.id)).host
    targets = { third: originOf(third), app: served.origin, other: copies.base(other.id) }
    captures = hostileCaptures(targets)
    for (const [name, { files }] of Object.entries(captures)) ids[name] = (await makeCapture(home, files)).id
    const app = await forwarder(served.port, (text) => {
      for (const [line] of text.matchAll(/^(?:[A-Z]+ \S*attacked|POST )\S*/gm)) reached.app.push(line)
    })
    const content = await forwarder(copies.port, (text) => {
      if (text.includes(otherHost)) reached.other.push(text.split('\r\n', 1)[0]!)
      else shown.push(/^GET (\S+)/.exec(text)?.[1] ?? text)
      if (/^cookie:/im.test(text)) reached.app.push('a cookie')
    })
    forwarders.push(app.server, content.server)
    const rules = [
      `MAP ${served.host} 127.0.0.1:${app.port}`,
      `MAP *.localhost:${copies.port} 127.0.0.1:${content.port}`,
    ]
    browser = await Browser.start(`--host-resolver-rules=${rules.join(', ')}`)
    await logIn()
    await browser.send('Page.navigate', { url: `${served.origin}/` })
    await browser.until("location.pathname === '/' && document.readyState === 'complete'")
  })
  afterAll(async () => {
    await browser?.close()
    for (const server of [third, plain]) {
      server?.closeAllConnections()
      server?.close()
    }
    for (const server of forwarders) server.close()
    served.running.signal('SIGTERM')
    await served.running.finished()
  })

  it('would reach somebody, served as anybody serves files', async () => {
    let silent = Object.keys(captures)
    // A busy machine may take too long for one of them.
    for (let tries = 0; tries < TRIES && silent.length > 0; tries += 1) {
      const tried = silent
      silent = []
      for (const name of tried) {
        const { page, reaches } = captures[name]!
        await blank()
        await browser.send('Page.navigate', {
          url: `${originOf(plain, 'plain.localhost')}/${encodeURIComponent(name)}/${page}`,
        })
        if (reaches) await eventually(() => reached[reaches].length > 0, REACHED_MS).catch(() => silent.push(name))
        else await later()
      }
    }
    const planted = (await cookies()).filter((cookie) => cookie.includes('planted'))
    await browser.send('Storage.clearCookies')
    await logIn()
    expect(silent).toEqual([])
    expect(planted).toEqual(['plain.localhost abx_planted=evil'])
  })

  it('reach nobody, opened by themselves, and are shown', async () => {
    const found: Record<string, unknown> = {}
    for (const [name, { page, isPage }] of Object.entries(captures)) {
      await blank()
      const url = `${copies.base(ids[name]!)}/${page}`
      await browser.send('Page.navigate', { url })
      await browser.until(`document.readyState === 'complete' && location.protocol === 'http:'`)
      await later()
      if (Object.values(reached).flat().length > 0) found[name] = reached
      const looks = await browser.evaluate<unknown>(
        `[location.href, document.querySelector('#ok')?.naturalWidth, document.querySelector('#end')?.textContent,
          document.querySelector('#mark') && getComputedStyle(document.querySelector('#mark')).color]`,
      )
      if (isPage) expect([name, looks]).toEqual([name, [url, 1, 'The end', 'rgb(1, 2, 3)']])
      else expect([name, (looks as string[])[0]]).toEqual([name, url])
    }
    expect(found).toEqual({})
  })

  it('reach nobody in a frame of the app, which stays as it was', async () => {
    const found: Record<string, unknown> = {}
    await browser.send('Page.navigate', { url: `${served.origin}/` })
    await browser.until("location.pathname === '/' && document.readyState === 'complete'")
    await browser.evaluate(`window.stays = document.title`)
    const all = Object.entries(captures)
    for (let at = 0; at < all.length; at += FRAMES) {
      const some = all.slice(at, at + FRAMES)
      const urls = some.map(([name, { page }]) => `${copies.base(ids[name]!)}/${page}?framed`)
      const names = some.map(([name]) => name)
      let loaded = 0
      for (let tries = 0; tries < TRIES && loaded < some.length; tries += 1) {
        third.closeAllConnections()
        forget()
        loaded = await browser.evaluate<number>(`(() => {
          for (const frame of document.querySelectorAll('.tried')) frame.remove()
          return Promise.all(${JSON.stringify(urls)}.map((src) => new Promise((resolve) => {
            const onload = () => resolve(1)
            document.body.append(Object.assign(document.createElement('iframe'), { className: 'tried', src, onload }))
            setTimeout(() => resolve(0), ${FRAMES_MS})
          }))).then((all) => all.reduce((sum, one) => sum + one))
        })()`)
        await later()
        if (Object.values(reached).flat().length > 0) found[names.join(' or ')] = reached
      }
      expect([names, loaded]).toEqual([names, some.length])
      const pictures = some.filter(([, { files }]) => 'html/ok.gif' in files).length
      expect([names, shown.filter((path) => path.endsWith('/ok.gif')).length]).toEqual([names, pictures])
      expect([names, await browser.evaluate(`window.stays === document.title`)]).toEqual([names, true])
    }
    expect(found).toEqual({})
    expect((await served.ask('/')).status).toBe(200)
    expect(await cookies()).toEqual([`${new URL(served.origin).hostname} ${served.cookie}`])
  })

  it('see nothing of each other where all share a host, and are shown', async () => {
    await opened(home, async ({ home: open }) => {
      const shared = createServer()
      shared.listen(0, '127.0.0.1')
      await once(shared, 'listening')
      const session = { id: 'shared' }
      const host = `copies.localhost:${(shared.address() as AddressInfo).port}`
      const place = { protocol: 'http:', host, isWildcard: false } as const
      const addresses = new CopyAddresses(place, Buffer.alloc(32), { live: async () => [session.id] })
      const answer = answerContent({ home: open, copies: addresses, app: served.origin, published: () => undefined })
      const [all, other] = [hostileCaptures({ ...targets, other: addresses.base(otherId, session) }), new Set<string>()]
      shared.on('request', (request, response) => {
        if (request.url?.includes(otherId.replaceAll('-', ''))) other.add(request.url)
        answer(request, response)
      })
      for (const [name, { files, page, reaches }] of Object.entries(all)) {
        if (reaches !== 'other') continue
        await blank()
        const { id } = await makeCapture(home, files)
        await browser.send('Page.navigate', { url: `${addresses.base(id, session)}/${page}` })
        await browser.until(`document.readyState === 'complete' && location.protocol === 'http:'`)
        await later()
        expect([name, await browser.evaluate(`document.querySelector('#ok').naturalWidth`)]).toEqual([name, 1])
        expect([name, await browser.evaluate(`origin`)]).toEqual([name, 'null'])
        expect([name, [...other]]).toEqual([name, []])
      }
      shared.closeAllConnections()
      shared.close()
    })
  })

  it('tell whoever a person goes to neither where that is nor who', async () => {
    const files = leadingElsewhere(targets.third)
    const { id } = await makeCapture(home, files)
    const page = Object.keys(files)[0]!
    const click = async () => {
      await browser.send('Page.bringToFront')
      await eventually(async () => (await told()) !== undefined || !(await clickInTheMiddle(browser)))
      return await told()
    }
    const told = async () => reached.third.find((path) => path.startsWith('/told'))
    const here = `${copies.base(id)}/${page}`
    captures = { ...captures, 'leads elsewhere': { files, page, isPage: true } }
    await blank()
    await browser.send('Page.navigate', { url: `${originOf(plain, 'plain.localhost')}/leads elsewhere/${page}` })
    await browser.until("document.querySelector('#out')")
    expect(await click()).toMatch(/opener=true&referrer=.*plain\.localhost/)
    expect(referrers).toContain(`${originOf(plain, 'plain.localhost')}/leads%20elsewhere/${page}`)
    await browser.send('Page.bringToFront')
    await blank()
    await browser.send('Page.navigate', { url: here })
    await browser.until("document.querySelector('#out')")
    expect(await click()).toBe('/told?opener=false&referrer=')
    await browser.send('Page.bringToFront')
    await browser.send('Page.navigate', { url: `${served.origin}/` })
    await browser.until("location.pathname === '/' && document.readyState === 'complete'")
    forget()
    await browser.evaluate(`(() => {
      const frame = Object.assign(document.createElement('iframe'), { src: ${JSON.stringify(here)} })
      frame.style = 'position: fixed; inset: 0; width: 100vw; height: 100vh; z-index: 9'
      document.body.append(frame)
      return new Promise((resolve) => { frame.onload = () => resolve(true) })
    })()`)
    expect(await click()).toBe('/told?opener=false&referrer=')
    expect([reached.app, referrers.filter((from) => /localhost:/.test(from)).length]).toEqual([[], 0])
  })
})
