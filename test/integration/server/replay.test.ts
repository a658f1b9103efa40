// A page is replayed of its WARC or WACZ, at once and in an empty profile, by a browser that reaches nobody meanwhile:
// neither what the page names, nor what ReplayWeb.page does.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server as HttpServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mimeOf } from '../../../src/base/mime.ts'
import { Browser, noBrowser } from '../../support/browser.ts'
import { type Copies, copiesOf, makeCapture } from '../../support/captures.ts'
import { forwarder } from '../../support/forwarder.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { hostileCaptures } from '../../support/hostile-captures.ts'
import { eventually } from '../../support/program.ts'
import { replayAttacks } from '../../support/replay-attacks.ts'
import { noReplay, REPLAY_LIB, REPLAYED, type Recorded, warcOf } from '../../support/replayed.ts'
import { askAt, type Served, serveHome } from '../../support/served.ts'
import { startSite } from '../../support/site.ts'

const homes = useHomes({ WARC_ENABLED: 'True', WACZ_ENABLED: 'True' })
const lacking = [noBrowser, await noReplay()].filter(Boolean).join(', ')

/** So long a page may take to ask for something after it has loaded. */
const LATER_MS = 150
/** What reaches somebody takes no longer. */
const REACHED_MS = 15_000
const TRIES = 3
/** So many attacks are tried at once. */
const FRAMES = 24
/** So long it is waited for them. */
const FRAMES_MS = 5_000
const WARC = 'warc/page.warc.gz'
const EVIL = 'http://evil.example'
/** What leads the page away in which it is tried, or crashes it. */
const ALONE = /the top|call somebody|calls somebody|opens WebRTC/
/** What only a page that is replayed can try. */
const REPLAYED_ONLY = /worker load|in the background|registers|other captures/
/** Whom the files of ReplayWeb.page name, and the pages here. */
const NAMED = /webrecorder|replayweb|crt\.sh|www\.googleapis|apis\.google|w3s|web3|estuary|wab\.ac|\.example/

/** The hosts of these that a request names, be it in a TLS greeting, whose other bytes are random. */
const namedIn = (text: string) => (text.match(/[a-z0-9-]+(?:\.[a-z0-9-]+)+/gi) ?? []).filter((name) => NAMED.test(name))

/** Puts pages into frames, in place of those before, and waits until all are there. */
function framesOf(sources: readonly string[]): string {
  return `(() => {
    for (const frame of document.querySelectorAll('.tried')) frame.remove()
    return Promise.all(${JSON.stringify(sources)}.map((src) => new Promise((resolve) => {
      const frame = Object.assign(document.createElement('iframe'), { className: 'tried', src, onload: resolve })
      document.body.append(frame)
      setTimeout(resolve, ${FRAMES_MS})
    }))).then(() => true)
  })()`
}

async function listening<T extends Server | HttpServer>(server: T): Promise<T> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const portOf = (server: Server | HttpServer) => (server.address() as AddressInfo).port

describe.skipIf(lacking)(`replay ${lacking}`, () => {
  let home: TestHome
  let served: Served
  let copies: Copies
  let third: HttpServer
  let datagrams: Socket
  /** Stands for every host that has a name. */
  let world: Server
  let appSide: Awaited<ReturnType<typeof forwarder>>
  let copySide: Awaited<ReturnType<typeof forwarder>>
  /** What has reached somebody else, whoever has a name, the app, and the hosts of captures. */
  const reached: string[] = []
  const told: string[] = []
  const app: string[] = []
  const asked: string[] = []

  const later = async () => await new Promise((resolve) => setTimeout(resolve, LATER_MS))
  const forget = () => {
    // A connection that is there would be used again, and not be seen.
    third.closeAllConnections()
    for (const list of [reached, told, app, asked]) list.length = 0
  }
  const originOf = (server: HttpServer) => `http://127.0.0.1:${portOf(server)}`
  const pageOf = (id: string, path = WARC) => `${copies.base(id, 'replay')}/page/${path}`
  /** A capture that is one WARC, of the first of these pages. */
  const capture = async (pages: Readonly<Record<string, Recorded>>) => {
    const made = await makeCapture(home, { [WARC]: await warcOf(pages) })
    await home.query('update snapshot set url = $2 where id = $1', [made.id, Object.keys(pages)[0]])
    return made.id
  }
  const blank = async (browser: Browser) => {
    // What a page has begun may come later than this.
    await eventually(async () => {
      // A tab that has just crashed answers nothing, and lives on with the next address.
      return await browser
        .send('Page.navigate', { url: 'about:blank' })
        .then(() => browser.evaluate<boolean>("location.href === 'about:blank'"))
        .catch(() => false)
    })
  }
  /** Opens a replay, and waits for the page. @returns where its collection is */
  const open = async (browser: Browser, address: string, text: string) => {
    await blank(browser)
    await browser.send('Page.navigate', { url: address })
    await browser.until(`${REPLAYED}?.body?.innerText.includes(${JSON.stringify(text)})`)
    return await browser.evaluate<string>(`/^.replay.w.[^/]+./.exec(${REPLAYED}.location.pathname)[0]`)
  }
  const start = async () => {
    const rules = [
      `MAP ${served.host} 127.0.0.1:${appSide.port}`,
      `MAP *.localhost:${copies.port} 127.0.0.1:${copySide.port}`,
      `MAP * 127.0.0.1:${portOf(world)}`,
      ...['EXCLUDE 127.0.0.1', 'EXCLUDE plain.localhost'],
    ]
    const browser = await Browser.start(`--host-resolver-rules=${rules.join(', ')}`)
    started.push(browser)
    return browser
  }
  const started: Browser[] = []
  // A test that fails leaves its own open.
  afterAll(async () => {
    for (const browser of started) if (!browser.isOver) await browser.close()
  })

  beforeAll(async () => {
    home = await homes.original()
    served = await serveHome(home, '--no-runner', { env: { ABXPKG_LIB_DIR: REPLAY_LIB } })
    copies = await copiesOf(home, served)
    third = await listening(
      createServer((request, response) => {
        reached.push(request.url ?? '')
        response.writeHead(200, { 'Content-Type': 'text/html', 'Access-Control-Allow-Origin': '*' }).end('<p>third')
      }),
    )
    third.on('connection', () => reached.push('a connection'))
    datagrams = createSocket('udp4').on('message', () => reached.push('a datagram'))
    datagrams.bind(portOf(third), '127.0.0.1')
    await once(datagrams, 'listening')
    world = await listening(
      createTcpServer((socket) => {
        socket
          .on('error', () => {})
          .once('data', (bytes) => {
            told.push(String(bytes))
            socket.destroy()
          })
      }),
    )
    appSide = await forwarder(served.port, (text) => app.push(text))
    copySide = await forwarder(copies.port, (text) => asked.push(text))
  })
  afterAll(async () => {
    third.closeAllConnections()
    datagrams.close()
    for (const server of [third, world, appSide.server, copySide.server]) server.close()
    served.running.signal('SIGTERM')
    await served.running.finished()
  })

  it('shows what this program has captured, at the first visit of an empty profile, and asks nobody', async () => {
    const site = await startSite(1)
    const crawl = await home.add('--plugins', 'html,warc,wacz', `${site.url}/page-1.html`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    await site.close()
    const id = await home.value<string>('select id from snapshot where crawl_id = $1', [crawl])
    const { text } = await served.ask(`/snapshots/${id}`)
    const [, address] = /<a href="([^"]+)" target="_blank" rel="noopener">Replay</.exec(text) ?? []
    expect(address).toBe(pageOf(id, 'wacz/page.wacz'))
    for (const path of ['wacz/page.wacz', 'warc/data.warc.gz', 'wacz/page.wacz']) {
      forget()
      const browser = await start()
      await open(browser, pageOf(id, path), 'Note 1.1.')
      await later()
      const parts = asked.filter((text) => text.includes(`GET /file/${path} `) && /^range: bytes=/im.test(text))
      expect([path, reached, app, parts.length > 0]).toEqual([path, [], [], true])
      expect(told.flatMap(namedIn)).toEqual([])
      expect(asked.filter((text) => /^cookie:/im.test(text))).toEqual([])
      // And they would be seen.
      if (path.startsWith('warc')) {
        await browser.send('Page.navigate', { url: 'http://crt.sh/' })
        await eventually(() => told.flatMap(namedIn).length > 0)
      }
      await browser.close()
    }
  })

  it('shows a page that tries to call somebody, which would crash it in a frame', async () => {
    const body = `<p id="is">It calls</p><script>try { new RTCPeerConnection() } catch {
      document.querySelector('#is').textContent = 'It goes without' }</script>`
    const browser = await start()
    await open(browser, pageOf(await capture({ [`${EVIL}/`]: { body } })), 'It goes without')
    await browser.close()
  })

  it('would reach somebody, served as anybody serves files', async () => {
    const attacks = Object.entries(replayAttacks({ third: originOf(third), others: [] }))
    const texts = attacks.map(([, text]) => text)
    const plain = await listening(
      createServer(({ url = '' }, response) => {
        response.writeHead(200, { 'Content-Type': 'text/html' }).end(texts[Number(url.slice(1))] ?? '<p>nothing')
      }),
    )
    let silent = attacks.flatMap(([name], at) => (REPLAYED_ONLY.test(name) ? [] : [at]))
    // A busy machine may take too long for one of them.
    for (let tries = 0; tries < TRIES && silent.length > 0; tries += 1) {
      const tried = silent
      silent = []
      const browser = await start() // What one attack has done to the last one is over.
      for (const at of tried) {
        await blank(browser)
        forget()
        await browser.send('Page.navigate', { url: `http://plain.localhost:${portOf(plain)}/${at}` })
        await eventually(() => reached.length > 0, REACHED_MS).catch(() => silent.push(at))
      }
      await browser.close()
    }
    plain.closeAllConnections()
    plain.close()
    expect(silent.map((at) => attacks[at]![0])).toEqual([])
  })

  it('keeps a page that runs from the app, other captures and everybody else, whatever it tries', async () => {
    const otherId = await capture({ 'http://other.example/': { body: '<p>secret' } })
    const others = [`${copies.base(otherId)}/${WARC}`, `${copies.base(otherId, 'replay')}/file/${WARC}`]
    const attacks = replayAttacks({ third: originOf(third), others })
    const hostile = hostileCaptures({ third: originOf(third), app: served.origin, other: copies.base(otherId) })
    const pages: Record<string, Recorded> = { [`${EVIL}/`]: { body: '<h1>Innocent</h1>' } }
    const tried: Record<string, string> = {}
    const add = (name: string, page: string, files: Readonly<Record<string, string | Buffer>>) => {
      const root = `${EVIL}/${encodeURIComponent(name)}`
      for (const [path, body] of Object.entries(files)) pages[`${root}/${path}`] = { body, type: mimeOf(path) }
      tried[name] = `${root}/${page}`
    }
    for (const [name, text] of Object.entries(attacks)) add(name, 'html/output.html', { 'html/output.html': text })
    for (const [name, { files, page }] of Object.entries(hostile)) add(`as a copy, ${name}`, page, files)
    pages[`${EVIL}/headers`] = {
      body: '<p id="end">The end',
      headers: {
        Link: `<${originOf(third)}>; rel=preconnect, <${originOf(third)}/attacked>; rel=preload; as=image`,
        Refresh: `0; url=${originOf(third)}/attacked`,
        'Content-Security-Policy': `default-src *; img-src 'none'; report-uri ${originOf(third)}/attacked`,
        'Connection-Allowlist': `("*")`,
      },
    }
    pages[`${EVIL}/redirect`] = { body: '', status: 302, headers: { Location: `${originOf(third)}/attacked` } }
    Object.assign(tried, { 'says so in headers': `${EVIL}/headers`, 'is led elsewhere': `${EVIL}/redirect` })
    const id = await capture(pages)
    const browser = await start()
    const found: Record<string, unknown> = {}
    let ended = 0
    const look = async (what: string) => {
      await later()
      const others = asked.filter((text) => text.includes(otherId.replaceAll('-', '')))
      const named = told.flatMap(namedIn)
      if ([...reached, ...app, ...others, ...named].length > 0) found[what] = { reached, app, others, named }
    }
    const together = Object.entries(tried).filter(([name]) => !ALONE.test(name))
    const alone = Object.entries(tried).filter(([name]) => ALONE.test(name))
    // As it was sent, with nothing of ReplayWeb.page in it; and as people see it.
    for (const how of ['id_', 'mp_']) {
      const coll = await open(browser, pageOf(id), 'Innocent')
      for (let at = 0; at < together.length; at += FRAMES) {
        const some = together.slice(at, at + FRAMES)
        forget()
        await browser.evaluate(framesOf(some.map(([, url]) => `${coll}${how}/${url}`)))
        await look(`${how} ${some.map(([name]) => name).join(' or ')}`)
        ended += await browser.evaluate<number>(
          `[...document.querySelectorAll('.tried')].filter((frame) => frame.contentDocument?.querySelector('#end'))
            .length`,
        )
        expect(await browser.evaluate('location.href')).toBe(pageOf(id))
      }
    }
    await browser.close()
    // Each has a browser of its own: one that crashes its tab, sooner or later, takes nobody else along.
    for (const [name, url] of alone) {
      const own = await start()
      const coll = await open(own, pageOf(id), 'Innocent')
      forget()
      await own.evaluate(`void setTimeout(() => { ${framesOf([`${coll}id_/${url}`])} })`)
      await later()
      await look(name)
      await own.close()
    }
    expect(found).toEqual({})
    // The others are led away, or are no HTML.
    expect(ended).toBeGreaterThan(together.length * 1.3)
  })

  it('lets a page register no worker but ours, and keep nothing where another capture finds it', async () => {
    const [one, other] = [
      await capture({ [`${EVIL}/`]: { body: 'One' } }),
      await capture({ [`${EVIL}/`]: { body: 'Two' } }),
    ]
    const browser = await start()
    await open(browser, pageOf(one), 'One')
    const register = async (path: string, scope: string) =>
      await browser.evaluate(`fetch('${path}').then((answer) => answer.text())
        .then(() => navigator.serviceWorker.register('${path}', { scope: '${scope}', updateViaCache: 'all' }))
        .then(() => 'registered', () => 'refused')`)
    for (const path of [
      '/replay/wabac.js',
      '/replay/ui.js',
      '/replay/sw.js?injectScripts=x',
      '/page.js',
      `/file/${WARC}`,
    ])
      expect([path, await register(path, '/replay/evil/')]).toEqual([path, 'refused'])
    expect(await register('/replay/sw.js?serveIndex=1', '/')).toBe('refused')
    const store = `localStorage.setItem('evil', '1'); caches.open('evil').then(() => new Promise((resolve) =>
      indexedDB.open('evil').onsuccess = resolve)).then(() => true)`
    const kept = `(async () => [localStorage.length, await caches.has('evil'),
      (await indexedDB.databases()).some(({ name }) => name === 'evil')])()`
    await browser.evaluate(store)
    expect(await browser.evaluate(kept)).toEqual([1, true, true])
    await open(browser, pageOf(other), 'Two')
    expect(await browser.evaluate(kept)).toEqual([0, false, false])
    await browser.close()
  })

  it('answers with nothing that would not hold a page back', async () => {
    const id = await capture({ [`${EVIL}/`]: { body: 'x' } })
    const { host } = new URL(copies.base(id, 'replay'))
    const HEAD = `Host: ${host}\r\nConnection: close\r\n`
    /** Status and policy of what is answered to these bytes; undefined: nothing is. */
    const raw = async (text: string) => {
      const socket = connect(copies.port, '127.0.0.1')
      socket.write(text)
      let answer = ''
      try {
        for await (const part of socket) answer += String(part)
      } catch {
        // It may be reset.
      }
      if (answer === '') return undefined
      const [head = ''] = answer.split('\r\n\r\n')
      expect([text, head]).toEqual([text, expect.not.stringMatching(/^service-worker-allowed:|^set-cookie:/im)])
      const isHeld =
        /^connection-allowlist: \((?:response-origin)?\)/im.test(head) && /^content-security-policy: /im.test(head)
      return [Number(head.split(' ')[1]), isHeld]
    }
    const get = async (path: string, more = '') => await raw(`GET ${path} HTTP/1.1\r\n${HEAD}${more}\r\n`)
    for (const path of [
      `/page/${WARC}`,
      `/file/${WARC}`,
      '/page.js',
      '/probe',
      '/replay/sw.js',
      '/replay/sw.js?serveIndex=1',
    ])
      expect([path, await get(path)]).toEqual([path, [200, true]])
    for (const path of ['/replay/ui.js', '/replay/wabac.js', '/replay/LICENSE'])
      expect([path, await get(path)]).toEqual([path, [200, true]])
    const none = ['/', '/replay/', '/replay/sw.js?x', `/${WARC}`, '/file/html/x', '/page/../x', '/%', '//', 'http://x/']
    for (const path of none) expect([path, await get(path)]).toEqual([path, [404, true]])
    expect(await get('/replay/wabac.js', 'Service-Worker: script\r\n')).toEqual([404, true])
    expect(await get(`/file/${WARC}`, 'Range: bytes=99999999-\r\n')).toEqual([416, true])
    expect(await get(`/file/${WARC}`, 'Range: bytes=0-9\r\n')).toEqual([206, true])
    expect(await get(`/file/${WARC}`, 'If-None-Match: *\r\n')).toEqual([304, true])
    expect(await get('/x', 'Expect: 200-ok\r\n')).toEqual([404, true])
    expect(await get('/x', 'Connection: upgrade\r\nUpgrade: websocket\r\n')).toEqual([404, true])
    for (const method of ['POST', 'PUT', 'OPTIONS'])
      expect([method, await raw(`${method} /replay/ HTTP/1.1\r\n${HEAD}Content-Length: 0\r\n\r\n`)]).toEqual([
        method,
        [405, true],
      ])
    expect(await raw('GET / HTTP/1.1\r\nConnection: close\r\n\r\n')).toEqual([404, true])
    const broken = [`x: ${'y'.repeat(20_000)}\r\n`, 'Content-Length: x\r\n', 'Transfer-Encoding: x\r\n', ' x\r\n']
    for (const more of broken) expect([more.slice(0, 20), await get('/', more)]).toEqual([more.slice(0, 20), undefined])
    for (const text of ['\x16\x03\x01\r\n\r\n', 'GET\r\n\r\n', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${HEAD}\r\n`])
      expect([text.slice(0, 9), await raw(text)]).toEqual([text.slice(0, 9), undefined])
    const page = await askAt(copies.port, host, `/page/${WARC}`)
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'")
  })

  it('gives the host of a copy no replay, and the host of a replay no copy', async () => {
    const { id } = await makeCapture(home, { [WARC]: await warcOf({}), 'title/title.txt': 'T' })
    const ask = async (origin: string, path: string) => (await askAt(copies.port, new URL(origin).host, path)).status
    expect(await ask(copies.base(id), '/title/title.txt')).toBe(200)
    for (const path of [`/page/${WARC}`, `/file/${WARC}`, '/replay/sw.js', '/page.js'])
      expect([path, await ask(copies.base(id), path)]).toEqual([path, 404])
    for (const path of ['/title/title.txt', '/file/title/title.txt', `/${WARC}`])
      expect([path, await ask(copies.base(id, 'replay'), path)]).toEqual([path, 404])
    const crossed = copies.base(id).replace('.localhost', '-r.localhost')
    expect(await ask(crossed, `/page/${WARC}`)).toBe(404)
    expect(await ask(copies.base(id, 'replay').replace('-r.localhost', '.localhost'), '/title/title.txt')).toBe(404)
  })

  it('says on the page of a copy why there is no replay', async () => {
    const { id } = await makeCapture(home, { [WARC]: await warcOf({}), 'title/title.txt': 'T' })
    const { id: without } = await makeCapture(home, { 'title/title.txt': 'T' })
    const isAbout = /Replay<\/a>|replay it|Replay is off/
    expect((await served.ask(`/snapshots/${without}`)).text).not.toMatch(isAbout)
    const other = await homes.make()
    const said = async (env: Readonly<Record<string, string>>) => {
      const { id } = await makeCapture(other, { [WARC]: await warcOf({}), 'title/title.txt': 'T' })
      const server = await serveHome(other, '--no-runner', { env: { ABXPKG_LIB_DIR: REPLAY_LIB, ...env } })
      const { text } = await server.ask(`/snapshots/${id}`)
      server.running.signal('SIGTERM')
      await server.running.finished()
      expect(text).not.toContain('>Replay</a>')
      return /id="no-replay">(.*?)<\/span>/s.exec(text)?.[1]
    }
    expect(await said({ ABXPKG_LIB_DIR: other.dataDir })).toBe(
      'To replay it: <code>archivebox-ts plugin install replay</code>',
    )
    expect(await said({ CONTENT_URL: 'https://copies.example.org' })).toContain('it needs a host for each copy')
    expect(await said({ CONTENT_URL: 'http://*.copies.example.org' })).toContain('browsers require HTTPS for it')
    expect((await served.ask(`/snapshots/${id}`)).text).toMatch(isAbout)
  })

  it('ends with the session, as if there had never been anything', async () => {
    const id = await capture({ [`${EVIL}/`]: { body: 'x' } })
    const { host } = new URL(copies.base(id, 'replay'))
    const none = await askAt(copies.port, `x.localhost:${copies.port}`, '/')
    const ask = async () => await askAt(copies.port, host, `/page/${WARC}`)
    expect((await ask()).status).toBe(200)
    await served.ask('/logout', { method: 'POST', headers: { Origin: served.origin } })
    const after = await ask()
    expect([after.status, after.text]).toEqual([404, none.text])
    expect({ ...after.headers, date: '' }).toEqual({ ...none.headers, date: '' })
  })
})
