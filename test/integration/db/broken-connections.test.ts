import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { messageOf } from '../../../src/base/errors.ts'
import { certificate, noCertificates } from '../../support/certificates.ts'
import { startHttp2Site } from '../../support/http2-site.ts'
import { noPackage } from '../../support/packaged-browser.ts'
import { REST_MS, RealTabs } from '../../support/real-tabs.ts'
import { type Site, startSite } from '../../support/site.ts'

const lacks = noPackage || (noCertificates && ` (${noCertificates})`)

describe.skipIf(lacks)(`a browser${lacks}`, () => {
  let tabs: RealTabs
  let unchecked: RealTabs
  let site: Site
  let http2: Awaited<ReturnType<typeof startHttp2Site>>
  const servers: Server[] = []
  beforeAll(async () => {
    ;[tabs, unchecked] = await Promise.all([RealTabs.start(), RealTabs.start({ CHECK_SSL_VALIDITY: 'false' })])
    http2 = await startHttp2Site()
    let half: ServerResponse | undefined
    site = await startSite({
      '/half': (_request, response) => {
        half = response
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
        response.write('<title>Half</title><img src="/is-read.png">')
      },
      // A reset takes along what was not read yet.
      '/is-read.png': (_request, response) => {
        half?.socket?.resetAndDestroy()
        response.end()
      },
    })
  })
  afterAll(async () => {
    for (const server of servers) server.close().closeAllConnections()
    await Promise.all([tabs, unchecked, site, http2].map((each) => each.close()))
  })

  it('shows a page with a bad certificate only where that is not checked', async () => {
    const title = '<title>behind TLS</title>'
    for (const days of [2, -1]) {
      const server = createServer(certificate(days), (_, to) => to.setHeader('content-type', 'text/html').end(title))
      servers.push(server)
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
      await expect(tabs.seen(url)).rejects.toThrow(/^TLS problem with 127\S+ self-signed .*\(CHECK_SSL_VALIDITY\)$/)
      expect(await unchecked.seen(url)).toMatchObject({ title: 'behind TLS', http_status: 200, settled: true })
    }
  })

  it('has what comes over HTTP/2, and says what does not, and why', async () => {
    const paths = '/ /leaves /needs-it /resets-when-read /ends-when-read /resets /cancels /ends'.split(' ')
    const told = async (path: string) => {
      const seen = unchecked.seen(http2.url + path)
      return await seen.then(({ title, broken_off }) => `${title}: ${broken_off}`, messageOf)
    }
    const closed = expect.stringMatching(/^connection closed by 127\S+/)
    const half = expect.stringMatching(/^over HTTP\/2: connection closed by 127/)
    const whole = 'over HTTP/2: null'
    expect(await Promise.all(paths.map(told))).toEqual([whole, whole, whole, half, half, closed, closed, closed])
  })

  it('has what came of a page that broke off over HTTP/1.1, and waits for nothing more', async () => {
    const seen = await tabs.seen(`${site.url}/half`)
    const brokenOff = expect.stringMatching(/^connection closed by 127/)
    expect(seen).toMatchObject({ title: 'Half', broken_off: brokenOff, settled: true })
    expect(seen.ms).toBeLessThan(REST_MS / 2)
  })
})
