import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import title from '../../../src/plugins/title/on_Snapshot__54_title.ts'
import { at, DEAD, files, HOOKS, json, read, run, site, snapshot, useHookRuns } from '../../support/hook-runs.ts'
import { eventually } from '../../support/program.ts'
import { asset, RUSSIAN } from '../../support/site.ts'

useHookRuns()

describe('the hooks, one after another on a page', () => {
  it('write what they promise, with one request each for headers, page and icon', async () => {
    const before = [site.hits('/page-2.html'), site.hits('/favicon.ico')]
    const results: Record<string, string> = {}
    for (const plugin of Object.keys(HOOKS)) {
      if (plugin === 'wget' || plugin === 'archivedotorg') continue
      const result = await run(plugin, at('/page-2.html'), { EXTRA_CONTEXT: '{"snapshot_depth":1}' })
      results[plugin] = `${result.status}: ${result.output}`
    }
    expect(results).toEqual({
      headers: 'succeeded: headers/headers.json',
      staticfile: 'noresults: text/html',
      html: 'succeeded: html/output.html',
      favicon: 'succeeded: favicon/favicon.ico',
      title: 'succeeded: Page 2',
      readability: 'succeeded: readability/content.html',
      markdown: 'succeeded: markdown/content.md',
      pdftext: 'noresults: not a file',
      exif: 'noresults: not a file',
      parse_html_urls: 'succeeded: 3 URLs parsed',
      parse_txt_urls: 'noresults: not a file',
      parse_rss_urls: 'noresults: not a file',
      parse_jsonl_urls: 'noresults: not a file',
      git: 'noresults: not the URL of a repository',
      ytdlp: 'noresults: no media on the page',
      hashes: expect.stringMatching(/^succeeded: 9 files, [\d.]+ kB, [0-9a-f]{12}$/) as string,
    })
    expect([site.hits('/page-2.html'), site.hits('/favicon.ico')]).toEqual([before[0]! + 2, before[1]! + 1])
    expect(files()).toEqual([
      'favicon/favicon.ico',
      'hashes/hashes.json',
      'headers/headers.json',
      'html/output.html',
      'markdown/content.md',
      'parse_html_urls/urls.jsonl',
      'readability/article.json',
      'readability/content.html',
      'readability/content.txt',
      'title/title.txt',
    ])
    expect(read('title/title.txt')).toBe('Page 2')
    expect(read('readability/content.txt')).toContain('The ferry leaves the harbour at seven')
    expect(read('readability/content.html')).toContain(`src="data:," data-src="${at('/picture.png')}"`)
    expect(json('readability/article.json')).toMatchObject({
      title: 'Page 2',
      lang: 'en',
      excerpt: 'Page 2 of a test site',
    })
  })

  it('leave a file to staticfile, which asks for it once', async () => {
    await run('headers', at('/document.pdf'))
    expect(await run('staticfile', at('/document.pdf'))).toMatchObject({
      status: 'succeeded',
      output: 'staticfile/document.pdf',
    })
    expect(readFileSync(join(snapshot, 'staticfile/document.pdf')).equals(asset('checklist.pdf'))).toBe(true)
    const before = site.hits('/document.pdf')
    for (const plugin of ['html', 'wget', 'title', 'readability', 'parse_html_urls']) {
      expect(await run(plugin, at('/document.pdf'))).toMatchObject({
        status: 'noresults',
        output: expect.stringContaining('staticfile/document.pdf') as string,
      })
    }
    expect(site.hits('/document.pdf')).toBe(before)
    // The icon of the site is worth having, also for a file.
    expect(await run('favicon', at('/document.pdf'))).toMatchObject({ status: 'succeeded' })
  })

  it('do not ask again for a page that could not be had', async () => {
    for (const plugin of ['headers', 'html']) await run(plugin, at('/hangs'), { TIMEOUT: '0.3' })
    const before = site.hits('/hangs')
    for (const plugin of ['staticfile', 'favicon', 'title', 'readability', 'parse_html_urls']) {
      expect(await run(plugin, at('/hangs'))).toMatchObject({
        status: 'skipped',
        output: `needs ${plugin === 'staticfile' ? 'headers' : 'html'}, which failed`,
      })
    }
    expect(site.hits('/hangs')).toBe(before)
  })

  it('keep nothing from one run to the next, also when runs overlap', async () => {
    const outputs = await Promise.all(
      ['/page-1.html', '/charset-declared', '/page-3.html', '/redirect-cookie'].map(async (path, i) => {
        const outputDir = join(snapshot, String(i))
        mkdirSync(outputDir)
        return title.run({
          url: at(path),
          outputDir,
          env: {},
          signal: new AbortController().signal,
          emit() {},
          log() {},
        })
      }),
    )
    expect(outputs.map((result) => result.output)).toEqual(['Page 1', RUSSIAN, 'Page 3', 'Cookie'])
    // A jar that outlived its chain would have spared this redirect.
    const before = site.hits('/redirect-cookie')
    await run('html', at('/redirect-cookie'))
    expect(site.hits('/redirect-cookie')).toBe(before + 2)
  })
})

describe('every hook that asks the network', () => {
  const reasons: readonly (readonly [string, string, string | RegExp])[] = [
    ['a dead port', DEAD, 'connection refused by 127.0.0.1:1'],
    [
      'a host that does not exist',
      'http://no-such-host.invalid/',
      /^(host not found: no-such-host\.invalid|name lookup failed for no-such-host\.invalid)/,
    ],
    ['no URL at all', 'http://', 'not a valid URL: http://'],
    ['a bad port', 'http://127.0.0.1:99999/', 'not a valid URL: http://127.0.0.1:99999/'],
    ['a reset', '/reset', /^connection reset by 127\.0\.0\.1:\d+$/],
    ['another protocol', '/not-http', /^127\.0\.0\.1:\d+ does not answer in HTTP \(HPE_\w+\)$/],
    ['TLS where there is none', 'https', /^TLS problem with 127\.0\.0\.1:\d+: .+/],
    ['a redirect loop', '/redirect-loop', /^redirect loop after 2 redirects/],
    ['endless redirects', '/redirect-for-ever', 'more than 20 redirects'],
    ['a redirect to another scheme', '/redirect-ftp', 'redirected to an unsupported scheme: ftp:'],
    ['a redirect into the void', '/redirect-dead', 'connection refused by 127.0.0.1:1'],
    ['silence', '/hangs', 'timed out after 0.3 s'],
  ]
  it.each(reasons)('fails with a reason at %s', async (_name, target, reason) => {
    const url = target === 'https' ? site.url.replace('http:', 'https:') : target.startsWith('/') ? at(target) : target
    for (const plugin of ['headers', 'html', 'title']) {
      // Each in a snapshot of its own: nothing to read from the others.
      rmSync(snapshot, { recursive: true, force: true })
      const result = await run(plugin, url, { TIMEOUT: target === '/hangs' ? '0.3' : '60' })
      expect(result.status, plugin).toBe('failed')
      if (typeof reason === 'string') expect(result.output, plugin).toBe(reason)
      else expect(result.output, plugin).toMatch(reason)
      expect(files()).toEqual([])
    }
  })

  it('says noresults to what is not http, and skipped when it is switched off', async () => {
    for (const plugin of Object.keys(HOOKS)) {
      if (plugin !== 'hashes')
        expect(await run(plugin, 'archivebox://internal')).toMatchObject({
          status: 'noresults',
          output: 'unsupported input URL',
        })
      const name = `${plugin.toUpperCase()}_ENABLED`
      expect(await run(plugin, at('/'), { [name]: 'False' })).toMatchObject({
        status: 'skipped',
        output: `${name}=False`,
      })
    }
  })

  it('stops when it is told to, and says so', async () => {
    const controller = new AbortController()
    const running = run('html', at('/slow'), {}, controller.signal)
    await eventually(() => site.hits('/slow') > 0)
    controller.abort()
    expect(await running).toMatchObject({ status: 'failed', output: 'stopped before it was done' })
    expect(await run('html', at('/'), {}, AbortSignal.abort())).toMatchObject({
      status: 'failed',
      output: 'stopped before it was done',
    })
    expect(files()).toEqual([])
  })

  it('names the setting that makes no sense', async () => {
    expect(await run('html', at('/'), { HTML_TIMEOUT: 'soon' })).toMatchObject({
      status: 'failed',
      output: 'HTML_TIMEOUT is not a number of seconds: soon',
    })
    expect(await run('html', at('/'), { HTML_MAX_SIZE: 'big' })).toMatchObject({
      status: 'failed',
      output: 'HTML_MAX_SIZE is not a size: big',
    })
  })
})

describe('a hostile page', () => {
  it('ends every hook with a plain outcome', async () => {
    for (const [path, expected] of [
      ['/deep.html', { html: 'succeeded', title: 'noresults', readability: 'noresults', parse_html_urls: 'noresults' }],
      ['/nul.html', { html: 'succeeded', title: 'succeeded', readability: 'succeeded', parse_html_urls: 'succeeded' }],
    ] as const) {
      const results: Record<string, string> = {}
      for (const plugin of Object.keys(expected)) results[plugin] = (await run(plugin, at(path))).status
      expect(results).toEqual(expected)
    }
    expect(read('title/title.txt')).toBe('NUL')
    for (const path of files()) if (!path.startsWith('html/')) expect(read(path), path).not.toMatch(/\0|\\u0000/)
  })
})
