import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scanHtml } from '../../../src/browse/html/scan-html.ts'
import { type DemoSite, serveDemo } from '../../../src/demo/server.ts'
import html from '../../../src/plugins/html/on_Snapshot__20_html.ts'
import parseHtmlUrls from '../../../src/plugins/parse_html_urls/on_Snapshot__70_parse_html_urls.ts'
import readability from '../../../src/plugins/readability/on_Snapshot__56_readability.ts'

const SITE = new URL('../../../src/demo/site/', import.meta.url)

let demo: DemoSite
beforeAll(async () => {
  demo = await serveDemo()
})
afterAll(() => demo.close())

/** Every address that a page names: links, pictures, styles, icons. */
function references(source: string): string[] {
  const found: string[] = []
  scanHtml(source, {
    names: new Set(['a', 'link', 'img', 'script']),
    open: (_name, attributes) => {
      found.push(...[attributes.get('href'), attributes.get('src')].filter((value) => value !== undefined))
    },
  })
  return found
}

describe('the demo site', () => {
  it('has six pages, all reachable from the first, and refers to nothing outside', async () => {
    const seen = new Set<string>()
    const queue = [demo.url]
    for (let url = queue.pop(); url !== undefined; url = queue.pop()) {
      if (seen.has(url)) continue
      seen.add(url)
      const answer = await fetch(url)
      expect(answer.status, url).toBe(200)
      if (!answer.headers.get('content-type')?.startsWith('text/html')) continue
      for (const reference of references(await answer.text())) {
        const target = new URL(reference, url)
        expect(target.origin, `${reference} in ${url}`).toBe(new URL(demo.url).origin)
        target.hash = ''
        queue.push(target.href)
      }
    }
    const names = [...seen].map((url) => new URL(url).pathname.slice(1) || 'index.html').sort()
    expect(names).toEqual(expect.arrayContaining(['checklist.pdf', 'dusk.png', 'favicon.ico', 'map.svg', 'style.css']))
    // Nothing lies there that no page uses.
    expect(names).toEqual(readdirSync(SITE).sort())
    expect(names.filter((name) => name.endsWith('.html'))).toHaveLength(6)
  })

  it('serves the right types, knows HEAD, and lets nobody out', async () => {
    const head = async (path: string) => {
      const answer = await fetch(demo.url + path, { method: 'HEAD' })
      expect(await answer.text()).toBe('')
      return [answer.status, answer.headers.get('content-type')]
    }
    expect(await head('')).toEqual([200, 'text/html; charset=utf-8'])
    expect(await head('checklist.pdf?x=1')).toEqual([200, 'application/pdf'])
    expect(await head('dusk.png')).toEqual([200, 'image/png'])
    expect(await head('map.svg')).toEqual([200, 'image/svg+xml'])
    expect(await head('..%2f..%2fserver.ts')).toEqual([404, 'text/plain; charset=utf-8'])
    expect((await fetch(demo.url, { method: 'POST' })).status).toBe(405)
  })

  it('has a PDF whose cross-reference table is right', () => {
    const pdf = readFileSync(new URL('checklist.pdf', SITE), 'latin1')
    const table = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(pdf)?.[1])
    expect(pdf.slice(table, table + 4)).toBe('xref')
    const offsets = [...pdf.slice(table).matchAll(/^(\d{10}) 00000 n/gm)].map((match) => Number(match[1]))
    expect(offsets.map((offset, i) => pdf.startsWith(`${i + 1} 0 obj`, offset))).toEqual(offsets.map(() => true))
    expect(pdf).toContain('/Count 1')
  })

  it('is worth archiving: its first page has links, and every page an article', async () => {
    const snapshot = mkdtempSync(join(tmpdir(), 'plugins-demo-'))
    try {
      const run = async (hook: typeof html, plugin: string, url: string) => {
        const outputDir = join(snapshot, plugin)
        mkdirSync(outputDir, { recursive: true })
        return hook.run({ url, outputDir, env: {}, signal: new AbortController().signal, emit() {}, log() {} })
      }
      await run(html, 'html', demo.url)
      expect((await run(parseHtmlUrls, 'parse_html_urls', demo.url)).output).toBe('5 URLs parsed')
      for (const name of readdirSync(SITE).filter((file) => file.endsWith('.html'))) {
        await run(html, 'html', demo.url + name)
        expect(await run(readability, 'readability', demo.url + name)).toMatchObject({ status: 'succeeded' })
        expect(readFileSync(join(snapshot, 'readability/content.txt'), 'utf8').length, name).toBeGreaterThan(500)
      }
    } finally {
      rmSync(snapshot, { recursive: true, force: true })
    }
  })
})
