// Frames of other sites, in processes of their own and not: copies are the same, and so is who visits them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { partsOf, sizeOf } from '../../../src/browse/browser/page-parts.ts'
import { personaSetup } from '../../../src/browse/browser/persona.ts'
import { singleFile } from '../../../src/browse/browser/single-file.ts'
import { noPackage } from '../../support/packaged-browser.ts'
import { RealTabs } from '../../support/real-tabs.ts'
import { asset, bytes, type Site, startSite } from '../../support/site.ts'

const FRAME = `<!doctype html><link rel=stylesheet href=/style.css><p>framed</p><img src=/p.png>
  <div id=closed><template shadowrootmode=closed><b>in the shade</b></template></div><i id=late></i>
  <iframe src=/inner></iframe><script>
    console.log('said in a frame')
    document.querySelector('i').textContent =
      [localStorage.getItem('stored'), new Date(0).getTimezoneOffset(), navigator.language].join(' ')
    fetch('//other.localhost:' + location.port + '/elsewhere')
    fetch('/late').then(async (answer) => document.body.append(await answer.text()))
  </script>`

/** Longer than a page without requests counts as one that loads. */
const LATE_MS = 1_500

describe.skipIf(noPackage)(`frames of another site${noPackage}`, () => {
  let site: Site
  let folder: string
  let asked: string[] = []
  const agents = new Set<string | undefined>()
  const note = (request: IncomingMessage) =>
    asked.push(`${request.headers.host?.split('.')[0]} ${request.url} ${request.headers['x-key']}`)

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-persona-'))
    await mkdir(join(folder, 'Reader'))
    site = await startSite({
      '/': (request, response) => {
        const { port } = new URL(site.url)
        const busy = request.url === '/?busy' ? `<iframe src="http://busy.localhost:${port}/busy"></iframe>` : ''
        response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>page</title><p>outer</p>
          <iframe src="http://framed.localhost:${port}/frame"></iframe>${busy}`)
      },
      '/frame': (request, response) => {
        note(request)
        response.writeHead(200, { 'content-type': 'text/html' }).end(FRAME)
      },
      '/elsewhere': (request, response) => {
        note(request)
        response.writeHead(200, { 'access-control-allow-origin': '*' }).end()
      },
      '/inner': '<p>inner</p>',
      '/busy': '<p>busy</p><script>setTimeout(() => { for (;;); }, 500)</script>',
      '/style.css': bytes('text/css', 'p { color: rgb(1, 2, 3) }'),
      '/p.png': bytes('image/png', asset('dusk.png')),
      '/late': async (request, response) => {
        note(request)
        agents.add(request.headers['user-agent'])
        await new Promise((resolve) => setTimeout(resolve, LATE_MS))
        response.end('came late')
      },
    })
    const { port } = new URL(site.url)
    const stored = {
      origin: `http://framed.localhost:${port}`,
      localStorage: [{ name: 'stored', value: 'of the persona' }],
    }
    writeFileSync(join(folder, 'Reader', 'auth.json'), JSON.stringify({ cookies: [], origins: [stored] }))
    writeFileSync(join(folder, 'Reader', 'persona.toml'), `[headers."framed.localhost"]\n"X-Key" = "of the host"\n`)
  })
  afterAll(async () => {
    await site.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it.each([[true], [false]])('are seen and copied as the page is: %s', async (isIsolated) => {
    asked = []
    const tabs = await RealTabs.start({}, isIsolated)
    try {
      const env = {
        PERSONAS_DIR: folder,
        ACTIVE_PERSONA: 'Reader',
        CHROME_TIMEZONE: 'Asia/Tokyo',
        CHROME_LANGUAGE: 'de-DE',
      }
      const dress = await personaSetup({ env, visit: undefined, log: () => {} })
      const tab = await tabs.visit(`${site.url}/`, { ...env, CHROME_SETTLE_TIMEOUT: '5' }, { isLoggedIn: true, dress })
      expect(tab.inner.frames.length > 0).toBe(isIsolated)
      const html = [...singleFile(await partsOf(tab, 1e8), site.url)].join('')
      for (const text of ['outer', 'framed', 'inner', 'in the shade', 'came late', 'rgb(1, 2, 3)', 'image/png'])
        expect(html).toContain(text)
      expect(html).toContain('of the persona -540 de-DE')
      expect(tab.console.lines.map(({ text }) => text)).toContain('said in a frame')
      expect(await sizeOf(tab)).toBeGreaterThan(asset('dusk.png').length)
      await tab.close()
    } finally {
      await tabs.close()
    }
    const own = ['framed /frame of the host', 'framed /late of the host']
    expect(asked.toSorted()).toEqual([...own, 'other /elsewhere undefined'])
    expect([...agents].join()).not.toContain('Headless')
  })

  it('that is busy with itself is empty, and keeps nothing else from being copied', async () => {
    const tabs = await RealTabs.start({}, true)
    try {
      const tab = await tabs.visit(`${site.url}/?busy`, { CHROME_SETTLE_TIMEOUT: '2' })
      const html = [...singleFile(await partsOf(tab, 1e8), site.url)].join('')
      for (const text of ['outer', 'framed', '<iframe></iframe>']) expect(html).toContain(text)
    } finally {
      await tabs.close()
    }
  })
})
