import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultOf, resultsOf } from '../../support/archive.ts'
import { newFolder, useHomes } from '../../support/homes.ts'
import { runAll } from '../../support/queued.ts'
import { pages, RUSSIAN, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
let folder: string

beforeAll(async () => {
  site = await startSite(pages(3))
  folder = newFolder()
})
afterEach(() => {
  rmSync(join(folder, 'data'), { recursive: true, force: true })
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await site.close()
})

describe('a bad URL', () => {
  it('among good ones is named, and the others are added', async () => {
    const home = await homes.make()
    const { code, stdout, stderr } = await home.run([
      'add',
      `${site.url}/page-1.html`,
      'mailto:a@b.c',
      'nonsense',
      `${site.url}/page-2.html`,
    ])
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/left out: .*mailto:a@b\.c/)
    expect(stderr).toMatch(/left out: .*nonsense/)
    expect((JSON.parse(stdout) as { urls: string[] }).urls).toEqual([
      `${site.url}/page-1.html`,
      `${site.url}/page-2.html`,
    ])
  })

  it('of a host that refuses ends with exit code 10 and the reason, and the other URL is archived', async () => {
    const home = await homes.make()
    const { code, stdout, stderr } = await home.run([
      'add',
      '--run',
      '--json',
      'http://127.0.0.1:1/',
      `${site.url}/page-1.html`,
    ])
    expect(stderr).toMatch(/failed http:\/\/127\.0\.0\.1:1\/: .*refused/)
    expect(code, stderr).toBe(10)
    const crawl = JSON.parse(stdout) as { id: string }
    expect(crawl).toMatchObject({ status: 'sealed', snapshots: 2, archived: 1 })
    const archived = await expectComplete(home, crawl.id)
    expect(archived.map(({ title }) => title).sort()).toEqual(['Page 1', null])
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  it.each([
    ['that is not found', '/not-there', /404/],
    ['that redirects in a circle', '/redirect-loop', /redirect/],
    ['that redirects for ever', '/redirect-for-ever', /redirect/],
    ['whose server answers with an error', '/status-500', /500/],
    ['whose server cuts the connection', '/reset', /reset|closed|hang up/i],
    ['that is not HTTP', '/not-http', /./],
  ])('%s ends with exit code 10 and the reason', async (_name, path, reason) => {
    const home = await homes.make()
    const { code, stdout, stderr } = await home.run([
      'add',
      '--run',
      '--json',
      '-c',
      'WGET_ENABLED=false',
      site.url + path,
    ])
    expect(stderr).toMatch(/failed http/)
    expect(stderr).toMatch(reason)
    expect(code, stderr).toBe(10)
    expect(stderr).not.toMatch(/^\s+at /m)
    await expectComplete(home, (JSON.parse(stdout) as { id: string }).id)
  })
})

describe('a page', () => {
  it('of 100 MB is given up at the size cap, and the other page is archived', async () => {
    const home = await homes.make()
    const urls = [`${site.url}/100mb`, `${site.url}/100mb-declared`, `${site.url}/page-1.html`]
    const { code, stdout, stderr } = await home.run([
      'add',
      '--run',
      '--json',
      '--plugins',
      'html,title',
      '-c',
      'HTML_MAX_SIZE=1mb',
      ...urls,
    ])
    expect(code, stderr).toBe(10)
    const { id } = JSON.parse(stdout) as { id: string }
    await expectComplete(home, id)
    const html = (await resultsOf(home, id)).filter(({ plugin }) => plugin === 'html')
    expect(html.map(({ status }) => status).sort()).toEqual(['failed', 'failed', 'succeeded'])
    for (const result of html)
      if (result.status === 'failed') expect(result.output_str).toMatch(/larger than 1 MB \(HTML_MAX_SIZE\)/)
  })

  it('that never ends is given up after TIMEOUT, and the other page is archived', async () => {
    const home = await homes.make()
    const urls = ['/slow', '/hangs'].map((path) => site.url + path)
    const endless = await home.add('--plugins', 'html', '-c', 'TIMEOUT=2', ...urls)
    // In a crawl of its own: it may take longer.
    const other = await home.add('--plugins', 'html', `${site.url}/page-1.html`)
    await runAll(home)
    await expectComplete(home, endless)
    const html = await resultsOf(home, endless)
    expect(html.map(({ status }) => status)).toEqual(['failed', 'failed'])
    for (const result of html) expect(result.output_str).toMatch(/timed? ?out|2 s/i)
    await expectComplete(home, other)
    expect((await resultOf(home, other, 'html')).status).toBe('succeeded')
  })

  it.each([
    '/charset-declared',
    '/charset-wrong',
    '/charset-meta',
    '/charset-none',
    '/charset-utf16',
    '/charset-weird',
  ])('with its characters declared like %s is archived', async (path) => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', 'html,title', site.url + path)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    const [page] = await expectComplete(home, crawl)
    expect((await resultOf(home, crawl, 'html')).status).toBe('succeeded')
    // Also where the server says what is not true.
    expect(page!.title).toBe(RUSSIAN)
  })
})
