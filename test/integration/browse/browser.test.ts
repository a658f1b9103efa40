import { spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Cdp } from '../../../src/browse/browser/cdp.ts'
import { guardBrowser } from '../../../src/browse/browser/guard.ts'
import { inPage } from '../../../src/browse/browser/in-page.ts'
import { launchBrowser } from '../../../src/browse/browser/launch.ts'
import type { RunningBrowser } from '../../../src/browse/browser/start-browser.ts'
import { Tab } from '../../../src/browse/browser/tab.ts'
import { visitPage } from '../../../src/browse/browser/visit-page.ts'
import { AddressFilter, type Resolve } from '../../../src/browse/network/address-filter.ts'
import { socksArguments, startSocksFilter } from '../../../src/browse/network/socks-filter.ts'
import { newFolder } from '../../support/folders.ts'
import { hostilePages } from '../../support/hostile-pages.ts'
import { noOtherUser, OTHER_USER } from '../../support/other-user.ts'
import { noPackage, packagedBrowser } from '../../support/packaged-browser.ts'
import { eventually, NODE } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

/** Milliseconds that a page may take in all which is to be there. */
const PATIENCE_MS = 120_000
/** What is to come to rest may take its time; what never does is not waited for. */
const RESTS = { CHROME_SETTLE_TIMEOUT: '30' }
const RESTLESS = { CHROME_SETTLE_TIMEOUT: '2' }
/** Each name leads to this machine. */
const resolve: Resolve = (_hostname, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }])

describe.skipIf(noPackage)(`one browser for all${noPackage}`, () => {
  const folder = newFolder()
  let browser: RunningBrowser
  let filter: Awaited<ReturnType<typeof startSocksFilter>>
  let site: Site
  let secret: Site

  beforeAll(async () => {
    secret = await startSite({ '/': 'secret' })
    const ws = secret.url.replace('http', 'ws')
    const targets = ['127.0.0.1', 'localhost', '127.1', 'rebound.example', '[::ffff:127.0.0.1]', '2130706433']
    const { port } = new URL(secret.url)
    site = await startSite({
      ...hostilePages,
      '/prying': `<title>prying</title><iframe src="${secret.url}/"></iframe><img src="/moved">
        ${targets.map((host) => `<img src="http://${host}:${port}/">`).join('')}
        <link rel="prefetch" href="${secret.url}/"><link rel="preconnect" href="${secret.url}/">
        <script>
          for (const to of ['${secret.url}/', '/moved']) fetch(to, { mode: 'no-cors' }).catch(() => {})
          new WebSocket('${ws}/'); new EventSource('${secret.url}/'); navigator.sendBeacon('${secret.url}/', 'x')
          new Worker(URL.createObjectURL(new Blob(["fetch('${secret.url}/', { mode: 'no-cors' })"])))
          const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:' + location.search.slice(1) }] })
          peer.createDataChannel('x')
          peer.createOffer().then((offer) => peer.setLocalDescription(offer))
        </script>`,
      '/moved': (_request, response) => response.writeHead(302, { location: secret.url }).end(),
    })
    const settings = { BLOCK_PRIVATE_ADDRESSES: 'true', ALLOW_PRIVATE_HOSTS: new URL(site.url).host }
    filter = await startSocksFilter(AddressFilter.from(settings, resolve)!)
    const sockets = join(folder, 'sockets')
    mkdirSync(sockets, { mode: 0o700 })
    const env = { CHROME_SANDBOX: 'false', CHROME_USER_AGENT: 'Tester' }
    browser = await launchBrowser(await packagedBrowser(), folder, sockets, env, socksArguments(filter.port))
  })
  afterAll(async () => {
    browser.process.kill('SIGKILL')
    await browser.ended
    filter.server.close()
    await Promise.all([site.close(), secret.close()])
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  it('lets many speak to it, each as if it were alone, and forgets what a gone one has made', async () => {
    const [one, other] = await Promise.all([1, 2].map(() => Cdp.connect(browser.relay.endpoint)))
    expect(await one!.send('Browser.getVersion')).toMatchObject({ userAgent: 'Tester' })
    const open = async (cdp: Cdp) => {
      const { browserContextId } = await cdp.send('Target.createBrowserContext', { disposeOnDetach: true })
      const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank', browserContextId })
      const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true })
      return { tab: cdp.session(sessionId), targetId }
    }
    const [first, second] = await Promise.all([open(one!), open(other!)])
    const heard: string[] = []
    for (const [name, { tab }] of Object.entries({ first, second })) {
      tab.on('Runtime.consoleAPICalled', ({ args }) => heard.push(`${name} ${args[0]?.value}`))
      await tab.send('Runtime.enable')
    }
    // At once, under the same numbers; one answer is longer than a pipe holds.
    const expression = 'console.log(1), "x".repeat(1e6)'
    const answers = [first, second].map(({ tab }, at) =>
      tab.send('Runtime.evaluate', { expression: at === 0 ? expression : 'console.log(2), "short"' }),
    )
    const values = (await Promise.all(answers)).map(({ result }) => String(result.value).length)
    expect(values).toEqual([1e6, 5])
    expect(heard.toSorted()).toEqual(['first 1', 'second 2'])
    await expect(first.tab.send('Page.navigate', {} as never)).rejects.toThrow('the browser refused')

    const tabs = async () => (await other!.send('Target.getTargets')).targetInfos.map(({ targetId }) => targetId)
    expect(await tabs()).toEqual(expect.arrayContaining([first.targetId, second.targetId]))
    one!.close()
    await eventually(async () => !(await tabs()).includes(first.targetId))
    expect(await tabs()).toContain(second.targetId)
    other!.close()
  })

  it.skipIf(noOtherUser)(`is out of reach for other accounts${noOtherUser ? ` (${noOtherUser})` : ''}`, () => {
    const path = browser.relay.endpoint.split(':')[1]!
    const connect = `const socket = require('net').connect(${JSON.stringify(path)})
      socket.on('connect', () => socket.destroy(console.log('in'))).on('error', ({ code }) => console.log(code))`
    const said = (as: object) => {
      const { stdout } = spawnSync(NODE, ['-e', connect], { cwd: '/', ...as })
      return String(stdout).trim()
    }
    expect(said(OTHER_USER)).toBe('EACCES')
    expect(said({})).toBe('in')
    expect(browser.process.spawnargs.filter((arg) => arg.includes('remote-debugging'))).toEqual([
      '--remote-debugging-pipe',
    ])
  })

  it('connects to nothing private, whatever a page tries, when that is blocked', async () => {
    const stun = createSocket('udp4').bind(0, '127.0.0.1')
    await once(stun, 'listening')
    const stunned: unknown[] = []
    stun.on('message', (message) => stunned.push(message))
    const tab = await Tab.open(browser.relay.endpoint, {}, async () => {})
    const visited = await visitPage(tab, `${site.url}/prying?${stun.address().port}`, RESTS, PATIENCE_MS, false)
    expect(visited).toMatchObject({ title: 'prying', http_status: 200 })
    expect(site.hits('/moved')).toBe(2)
    await tab.close()
    const next = await Tab.open(browser.relay.endpoint, {}, async () => {})
    await expect(visitPage(next, `${site.url}/moved`, RESTS, PATIENCE_MS, false)).rejects.toThrow(
      'private (BLOCK_PRIVATE_ADDRESSES)',
    )
    await next.close()
    stun.close()
    expect({ http: secret.hits('/'), udp: stunned.length }).toEqual({ http: 0, udp: 0 })
  })

  it.each([
    ['/asks-for-ever', RESTLESS, { title: 'asks' }],
    ['/holds-on', RESTS, { title: 'left', settled: true }],
    ['/trickles', RESTS, { title: 'left', settled: true }],
    ['/floods', RESTLESS, { title: 'floods' }],
    ['/prints', RESTLESS, { title: 'prints' }],
    ['/opens', RESTS, { title: 'opens' }],
    ['/wants', RESTS, { title: 'got:' }],
    ['/downloads', RESTLESS, { title: 'downloads' }],
    ['/serves-itself', RESTS, { title: 'from the server' }],
    ['/draws', RESTLESS, { title: expect.stringContaining('WebGL: ') }],
    ['/embeds', RESTS, { title: 'embeds' }],
    ['/mails', RESTS, { title: 'mails', settled: true }],
    ['/reloads', RESTS, { title: 'reloads', settled: true }],
    ['/refreshes', RESTS, { title: 'refreshes', settled: true }],
    ['/works', RESTS, { title: 'works on', settled: true }],
    ['/nests', RESTS, { title: 'nests', settled: true, requests: 22 }],
    ['/crowds', RESTLESS, { title: 'crowds' }],
  ])('has a picture of a page that is %s', async (path, patience, visited) => {
    const tab = await Tab.open(browser.relay.endpoint, {}, async () => {})
    try {
      const seen = await visitPage(tab, site.url + path, patience, PATIENCE_MS, false)
      expect(seen).toMatchObject({ ...visited, http_status: 200, broken_off: null })
      const { data } = await tab.send('Page.captureScreenshot', { format: 'png' })
      expect(data.length).toBeGreaterThan(1_000)
    } finally {
      await tab.close()
    }
    expect(site.hits('/pop-up')).toBe(0)
    const watch = await Cdp.connect(browser.relay.endpoint)
    const pages = async () => (await watch.send('Target.getTargets')).targetInfos.filter(({ type }) => type === 'page')
    await eventually(async () => (await pages()).length === 0)
    watch.close()
  })

  it('finds what covers a page of ten thousands of elements', async () => {
    const tab = await Tab.open(browser.relay.endpoint, {}, async () => {})
    const seen = { CHROME_HIDE_OVERLAYS: 'False', CHROME_SETTLE_TIMEOUT: '1' }
    await visitPage(tab, `${site.url}/crowds`, seen, PATIENCE_MS, false)
    expect(await tab.evaluate(inPage('hide-overlays', []))).toEqual(['#banner'])
    await tab.close()
  })

  it('survives a tab that crashes, and one that is closed at work', async () => {
    const tab = await Tab.open(browser.relay.endpoint, {}, async () => {})
    const crash = tab.session.send('Page.crash').catch(() => {})
    await expect(visitPage(tab, `${site.url}/left`, {}, PATIENCE_MS, false)).rejects.toThrow('the page crashed its tab')
    await tab.close()
    void crash
    const next = await Tab.open(browser.relay.endpoint, {}, async () => {})
    expect(await visitPage(next, `${site.url}/left`, RESTS, PATIENCE_MS, false)).toMatchObject({ title: 'left' })
    await next.close()
  })

  it('is ended when it is frozen', async () => {
    const said: string[] = []
    const unguard = guardBrowser(browser, Number.POSITIVE_INFINITY, (line) => said.push(line))
    browser.process.kill('SIGSTOP')
    await browser.ended
    unguard()
    expect(said).toEqual(['The browser was frozen and was killed.'])
    expect(browser.process.signalCode).toBe('SIGKILL')
  })
})
