import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Visit } from '../../../src/browse/visit.ts'
import warc from '../../../src/plugins/warc/on_Snapshot__80_warc.ts'
import { noPackage } from '../../support/packaged-browser.ts'
import { eventually } from '../../support/program.ts'
import { RealTabs } from '../../support/real-tabs.ts'
import { bytes, type Site, startSite } from '../../support/site.ts'
import { recordsIn } from '../../support/warc-files.ts'

const script = (text: string) => bytes('text/javascript', text)

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
})
