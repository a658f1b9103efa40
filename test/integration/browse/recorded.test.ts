import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Visit } from '../../../src/browse/visit.ts'
import warc from '../../../src/plugins/warc/on_Snapshot__80_warc.ts'
import { noPackage } from '../../support/packaged-browser.ts'
import { eventually } from '../../support/program.ts'
import { RealTabs } from '../../support/real-tabs.ts'
import { bytes, type Route, type Site, startSite } from '../../support/site.ts'
import { recordsIn } from '../../support/warc-files.ts'

const script = (text: string) => bytes('text/javascript', text)

const VISITOR = 'visitor=somebody'
const TIFF = Buffer.concat([Buffer.from('II*\0'), Buffer.alloc(30_000, 7)])
const LARGE = Buffer.alloc(9_000_000, 'large ')
const LARGE_FILE = bytes('application/zip', LARGE) as Exclude<Route, string>

describe.skipIf(noPackage)(`the WARC of a page in a browser${noPackage}`, () => {
  let tabs: RealTabs
  let site: Site
  beforeAll(async () => {
    tabs = await RealTabs.start()
    site = await startSite({
      '/works': `<p>works<script>
        new SharedWorker('/shared.js')
        navigator.serviceWorker.register('/service.js', { scope: '/elsewhere' })</script><img src="/after-them">`,
      '/after-them': (_request, response) =>
        void eventually(() => ['/by-shared', '/by-service'].every(site.hits)).then(() => response.end()),
      '/shared.js': script(`fetch('/by-shared')`),
      '/service.js': script(`oninstall = (event) => event.waitUntil(fetch('/by-service'))`),
      '/unshown': '<p>unshown<img src="/scan.tiff">',
      '/scan.tiff': (_request, response) => {
        response.writeHead(200, { 'content-type': 'image/tiff', 'content-length': TIFF.length })
        response.write(TIFF.subarray(0, 4000))
        // The browser stops at the first bytes, and calls that the end.
        if (site.hits('/scan.tiff') > 1) response.end(TIFF.subarray(4000))
      },
      '/saves': `<p>saves<script>fetch('/large').then((it) => it.blob())</script>`,
      '/large': LARGE_FILE,
      '/guarded': (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': `${VISITOR}; HttpOnly` })
        response.end(`<p>guarded<script>
          for (const path of ['/for-visitors', '/once', '/moves']) fetch(path).then((it) => it.blob())</script>`)
      },
      '/for-visitors': (request, response) => {
        const { cookie, referer, accept } = request.headers
        const isVisitor = cookie === VISITOR && referer === `${site.url}/guarded` && accept === '*/*'
        if (isVisitor) LARGE_FILE(request, response)
        else response.writeHead(403).end('go away')
      },
      '/once': (request, response) => {
        if (site.hits('/once') === 1) LARGE_FILE(request, response)
        else response.writeHead(403).end('go away')
      },
      '/moves': (request, response) => {
        if (site.hits('/moves') === 1) LARGE_FILE(request, response)
        else response.writeHead(302, { location: '/login' }).end()
      },
      '/pings': `<p>pings<script>
        fetch('/head', { method: 'HEAD' }); fetch('/none'); fetch('/empty')</script>`,
      '/head': (_request, response) => response.writeHead(200, { 'content-length': 500 }).end(),
      '/none': (_request, response) => response.writeHead(204).end(),
      '/empty': (_request, response) => response.writeHead(200, { 'content-length': 0 }).end(),
      '/sends': `<p>sends<script type="module">
        for (const body of ['words', new Blob(['blob'])]) await (await fetch('/sent', { method: 'POST', body })).text()
        </script>`,
      '/sent': (request, response) => void request.resume().on('end', () => response.end('received')),
      '/by-shared': bytes('text/plain', 'shared'),
      '/by-service': bytes('text/plain', 'service'),
    })
  })
  afterAll(async () => {
    await tabs.close()
    await site.close()
  })

  /** Has a page visited for its WARC. */
  async function recorded(path: string) {
    const folder = mkdtempSync(join(tabs.folder, 'crawl-'))
    const outputDir = join(folder, 'warc')
    for (const name of ['chrome', 'warc']) mkdirSync(join(folder, name))
    writeFileSync(join(folder, 'chrome', 'cdp_url.txt'), tabs.endpoint)
    const visit = new Visit(['warc'])
    visit.recordInto = outputDir
    const log: string[] = []
    const context = { visit, outputDir, url: site.url + path, env: { CRAWL_DIR: folder }, emit() {} }
    const signal = AbortSignal.timeout(60_000)
    const result = await warc.run({ ...context, signal, log: (line) => log.push(line) }).finally(() => visit.close())
    const records = await recordsIn(readFileSync(join(outputDir, 'data.warc.gz')))
    const of = (type: string, at: string) =>
      records.filter((record) => record.type === type && record.url === site.url + at)
    const responses = (at: string) => of('response', at).map(({ status, body }) => `${status} ${body.toString()}`)
    return { result, log, of, responses }
  }

  it('has what shared and service workers load', async () => {
    const { result, responses } = await recorded('/works')
    expect(result).toMatchObject({ status: 'succeeded', json: { left_out: 0 } })
    expect(['/by-shared', '/by-service'].map(responses)).toEqual([['200 shared'], ['200 service']])
    expect(['/shared.js', '/service.js'].flatMap(responses)).toHaveLength(2)
  })

  it.each([
    ['a picture that the browser does not show', '/unshown', '/scan.tiff', TIFF],
    ['a large file of which a script makes a Blob', '/saves', '/large', LARGE],
  ])('has %s as a whole', async (_, page, path, body) => {
    const { result, of } = await recorded(page)
    expect(result).toMatchObject({ status: 'succeeded', json: { left_out: 0 } })
    expect(of('response', path).map((record) => record.body.equals(body))).toEqual([true])
    expect(site.hits(path)).toBe(2)
  })

  it('asks again as the browser did, and leaves out what then is something else', async () => {
    const { result, log, of } = await recorded('/guarded')
    expect(result).toMatchObject({ status: 'succeeded', json: { left_out: 2 } })
    const paths = ['/for-visitors', '/once', '/moves', '/login']
    expect(paths.map((path) => of('response', path).map(({ status }) => status))).toEqual([[200], [], [], []])
    expect(of('response', '/for-visitors')[0]!.body.equals(LARGE)).toBe(true)
    expect(of('request', '/for-visitors').map(({ head }) => /cookie|somebody/i.test(head))).toEqual([false])
    for (const why of ['once (HTTP 403 when it was requested again)', 'moves (HTTP 302 when it was requested again)'])
      expect(log).toContain(`not in the file: ${site.url}/${why}`)
  })

  it('has answers without a body, which scripts do not read', async () => {
    const { result, of } = await recorded('/pings')
    expect(result).toMatchObject({ status: 'succeeded', json: { left_out: 0 } })
    const [head, none, empty] = ['/head', '/none', '/empty'].map((path) => of('response', path))
    expect([head, none, empty].map((all) => all!.map(({ status, body }) => [status, body.length]))).toEqual([
      [[200, 0]],
      [[204, 0]],
      [[200, 0]],
    ])
    expect(head![0]!.http.get('x-orig-content-length')).toBe('500')
  })

  it('has the length of a body that was sent only where it has that body', async () => {
    const { result, of } = await recorded('/sends')
    expect(result).toMatchObject({ status: 'succeeded', json: { left_out: 0 } })
    const sent = of('request', '/sent').filter(({ head }) => head.startsWith('POST'))
    const told = sent.map(({ http, body }) => [
      http.get('content-length'),
      http.get('x-orig-content-length'),
      body.toString(),
    ])
    expect(told).toEqual([
      ['5', undefined, 'words'],
      [undefined, '4', ''],
    ])
  })
})
