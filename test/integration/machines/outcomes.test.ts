import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pagesOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { queuedPages, runAll } from '../../support/queued.ts'
import { lines, type Record, records } from '../../support/records.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(3)
})
afterAll(() => site.close())

const PLUGINS = 'headers,staticfile,html,favicon,title,readability,parse_html_urls,hashes'
const LIMITS = ['-c', 'HTML_MAX_SIZE=1mb']

/** What has become of one URL. */
async function outcomeOf(home: TestHome, url: string) {
  const [page] = (await records(home, ['snapshot', 'list'])).filter((record) => record['url'] === url)
  const results = await records(home, ['result', 'list', '--snapshot-id', page!.id])
  const told = (status: string) =>
    Object.fromEntries(
      results.filter((result) => result['status'] === status).map(({ plugin, output_str }) => [plugin, output_str]),
    )
  return { page: page!, failed: told('failed'), skipped: told('skipped') }
}

const verdict = ({ outcome, cause, http_status }: Record) => ({ outcome, cause, http_status })

describe('the outcome of a page', () => {
  let home: TestHome
  const dead = 'http://127.0.0.1:1/'
  const nowhere = 'http://nowhere.invalid/'
  const at = (path: string) => `${site.url}${path}`
  const encrypted = () => at('/page-1.html').replace('http:', 'https:')

  beforeAll(async () => {
    home = await homes.original()
    const paths = ['/page-1.html', '/photo.png', '/status-404', '/status-500', '/status-204', '/empty', '/blank']
    const urls = [...paths, '/reset', '/100mb', '/redirect-loop', '/not-http'].map(at)
    const crawl = await home.add('--plugins', PLUGINS, ...LIMITS, ...urls, dead, nowhere, encrypted())
    // No other page may run out of time, however busy the machine is.
    await records(home, ['snapshot', 'create', '--crawl-id', crawl, '-c', 'TIMEOUT=2', at('/hangs')])
    await runAll(home)
  })

  it.each([
    ['/page-1.html', 'archived', null, 200],
    ['/photo.png', 'archived', null, 200],
    ['/status-404', 'failed', 'HTTP 404', 404],
    ['/status-500', 'failed', 'HTTP 500', 500],
    ['/status-204', 'failed', 'empty answer (HTTP 204)', 204],
    ['/empty', 'failed', 'empty answer', 200],
    ['/blank', 'failed', 'empty answer', 200],
    ['/not-http', 'failed', 'no HTTP answer', null],
    ['/hangs', 'failed', 'timed out after 2 s', null],
    ['/reset', 'failed', 'connection reset', null],
    ['/100mb', 'partial', 'html: larger than 1 MB', 200],
    ['/redirect-loop', 'failed', 'too many redirects', null],
  ])('%s: %s, %s', async (path, outcome, cause, http_status) => {
    const { page, failed } = await outcomeOf(home, at(path))
    expect(verdict(page)).toEqual({ outcome, cause, http_status })
    expect(page['sealed_at']).toBeTruthy()
    // One failure a page at most, whatever else could not be done because of it.
    expect(Object.keys(failed).length, JSON.stringify(failed)).toBeLessThanOrEqual(1)
  })

  it('says why nobody answered', async () => {
    expect(verdict((await outcomeOf(home, dead)).page)).toEqual({
      outcome: 'failed',
      cause: 'connection refused',
      http_status: null,
    })
    expect((await outcomeOf(home, nowhere)).page['cause']).toMatch(/^(?:host not found|name lookup failed)$/)
    expect((await outcomeOf(home, encrypted())).page['cause']).toBe('TLS failed')
  })

  it('is told once: what lacks the output of a failed hook, or meets the same, is skipped', async () => {
    const lacksHtml = Object.fromEntries(
      ['favicon', 'title', 'readability', 'parse_html_urls'].map((plugin) => [plugin, 'needs html, which failed']),
    )
    const refused = await outcomeOf(home, dead)
    expect(Object.keys(refused.failed)).toEqual(['headers'])
    expect(refused.skipped).toEqual({
      ...lacksHtml,
      staticfile: 'needs headers, which failed',
      html: 'connection refused, as headers found',
    })
    const missing = await outcomeOf(home, at('/status-404'))
    expect(missing.failed).toEqual({ html: 'HTTP 404 Not Found' })
    expect(missing.skipped).toEqual(lacksHtml)
  })

  it('keeps what a server sends with its error', async () => {
    const { page } = await outcomeOf(home, at('/status-404'))
    const file = join(home.dataDir, String(page['output_dir']), 'html/error.html')
    expect(readFileSync(file, 'utf8')).toContain('Sorry.')
    const index = readFileSync(join(home.dataDir, String(page['output_dir']), 'index.jsonl'), 'utf8')
    expect(JSON.parse(index.split('\n')[0]!)).toMatchObject({
      status: 'sealed',
      outcome: 'failed',
      cause: 'HTTP 404',
      http_status: 404,
      output_size: page['output_size'],
      sealed_at: expect.stringMatching(/^\d{4}-/) as string,
    })
  })

  it('is counted, and lists go by it', async () => {
    const [crawl] = await records(home, ['crawl', 'list', '--outcome', 'failed'])
    expect(crawl!['counts']).toEqual({ queued: 0, started: 0, paused: 0, archived: 2, partial: 1, failed: 12 })
    const listed = await records(home, ['snapshot', 'list', '--outcome', 'failed'])
    expect(listed).toHaveLength(12)
    expect(new Set(listed.map((page) => page['outcome']))).toEqual(new Set(['failed']))
    expect(await records(home, ['snapshot', 'list', '--outcome', 'archived,partial'])).toHaveLength(3)
    expect(await records(home, ['crawl', 'list', '--outcome', 'partial'])).toHaveLength(1)
    const results = await records(home, ['result', 'list', '--outcome', 'archived', '--status', 'succeeded'])
    expect(results.length).toBeGreaterThan(2)
    const { code, stderr } = await home.run(['snapshot', 'list', '--outcome', 'sealed'])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'error: there is no outcome "sealed"\nhint:  the outcomes of a page are archived, partial, failed\n',
    })
  })
})

describe('the outcome', () => {
  it('is partial with a copy and a failure, and goes with a retry', async () => {
    const home = await homes.make()
    home.install('exit_1')
    const { crawl, pages } = await queuedPages(home, [`${site.url}/page-1.html`, `${site.url}/page-2.html`])
    await home.query(`update crawl set config = '{"plugins": ["headers", "html", "exit_1"]}'`)
    await runAll(home)
    const [page] = await records(home, ['snapshot', 'show', pages[0]!])
    expect(page).toMatchObject({
      outcome: 'partial',
      http_status: 200,
      cause: expect.stringMatching(/^exit_1: /) as string,
    })
    const [retried] = await records(home, ['snapshot', 'retry', '--failed', pages[0]!])
    expect(retried).toMatchObject({ status: 'queued', outcome: null, cause: null, http_status: null, sealed_at: null })
    expect((await records(home, ['crawl', 'show', crawl]))[0]!['counts']).toMatchObject({ queued: 1, partial: 1 })
    await runAll(home)
    expect((await records(home, ['crawl', 'show', crawl]))[0]!['counts']).toMatchObject({ queued: 0, partial: 2 })
  })

  it('is judged again when somebody deletes a result', async () => {
    const home = await homes.make()
    home.install('exit_1')
    const { pages } = await queuedPages(home, [`${site.url}/page-1.html`])
    await home.query(`update crawl set config = '{"plugins": ["html", "exit_1"]}'`)
    await runAll(home)
    const results = await records(home, ['result', 'list'])
    const shown = async () => verdict((await records(home, ['snapshot', 'show', pages[0]!]))[0]!)
    await records(
      home,
      ['result', 'delete', '--yes', '-'],
      lines(results.find((result) => result['plugin'] === 'exit_1')!),
    )
    expect(await shown()).toEqual({ outcome: 'archived', cause: null, http_status: 200 })
    await records(
      home,
      ['result', 'delete', '--yes', '-'],
      lines(results.find((result) => result['plugin'] === 'html')!),
    )
    expect(await shown()).toMatchObject({ outcome: 'failed', cause: 'nothing was run' })
  })

  it('of what was cancelled says so, and retry --failed takes it up', async () => {
    const home = await homes.make()
    const { crawl, pages } = await queuedPages(home, [`${site.url}/page-1.html`, `${site.url}/page-2.html`])
    await home.query(`update crawl set config = '{"plugins": ["html"]}'`)
    await records(home, ['crawl', 'cancel', crawl])
    for (const page of await records(home, ['snapshot', 'list']))
      expect(verdict(page)).toEqual({ outcome: 'failed', cause: 'cancelled', http_status: null })
    await records(home, ['snapshot', 'retry', '--failed', pages[0]!])
    await runAll(home)
    const outcomes = await records(home, ['snapshot', 'list'])
    expect(Object.fromEntries(outcomes.map(({ id, outcome }) => [id, outcome]))).toEqual({
      [pages[0]!]: 'archived',
      [pages[1]!]: 'failed',
    })
  })

  it('is failed where every retry of --failed asks for the whole page again', async () => {
    const home = await homes.make()
    const url = `${site.url}/status-404`
    const { pages } = await queuedPages(home, [url])
    await home.query(`update crawl set config = '{"plugins": ["headers", "html", "title"]}'`)
    await runAll(home)
    await records(home, ['snapshot', 'retry', '--failed', pages[0]!])
    await runAll(home)
    const attempts = await home.query(
      'select plugin, max(attempt) as attempt from archive_result group by 1 order by 1',
    )
    expect(attempts).toEqual(['headers', 'html', 'title'].map((plugin) => ({ plugin, attempt: 2 })))
  })

  it('of pages that were sealed without one is found out by the next runner', async () => {
    const home = await homes.make()
    const urls = [`${site.url}/page-1.html`, `${site.url}/status-404`]
    const { crawl, pages } = await queuedPages(home, urls)
    await home.query(`update crawl set config = '{"plugins": ["headers", "html", "title"]}'`)
    await runAll(home)
    const judged = await home.query('select id, outcome, cause, http_status from snapshot order by id')
    await home.query('update snapshot set outcome = null, cause = null, http_status = null')
    expect((await records(home, ['crawl', 'show', crawl]))[0]!['counts']).toMatchObject({ archived: 0, failed: 0 })
    const runner = home.start(['run'])
    await expect
      .poll(async () => await home.query('select id, outcome, cause, http_status from snapshot order by id'), {
        timeout: 30_000,
      })
      .toEqual(judged)
    runner.signal('SIGTERM')
    await runner.finished()
    expect(pages).toHaveLength(2)
    expect((await records(home, ['crawl', 'show', crawl]))[0]!['counts']).toMatchObject({ archived: 1, failed: 1 })
  })

  it('decides the exit code of add --run: 10 for failed, not for partial', async () => {
    const home = await homes.make()
    home.install('exit_1')
    const run = async (...args: string[]) => (await home.run(['add', '--run', ...args])).code
    expect(await run('--plugins', 'html,exit_1', `${site.url}/page-1.html`)).toBe(0)
    expect(await run('--plugins', 'headers,html', `${site.url}/status-404`)).toBe(10)
    expect(await run('--plugins', 'headers', `${site.url}/page-2.html`)).toBe(0)
    const [page] = await pagesOf(home, String((await records(home, ['crawl', 'list', '-n', '1']))[0]!.id))
    expect(existsSync(join(home.dataDir, page!.output_dir, 'headers/headers.json'))).toBe(true)
  })
})
