// What works on the file that a URL is gets its results only when there is a file: pages, which are most, cost nothing.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { hook } from '../../support/plugins.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes({ MAX_SNAPSHOT_WORKERS: '1', WGET_ENABLED: 'False' })
let site: Site
beforeAll(async () => {
  site = await startSite(1)
})
afterAll(() => site.close())

const FILE_HOOKS = ['pdftext', 'exif', 'parse_txt_urls', 'parse_rss_urls', 'parse_jsonl_urls']

async function fileResults(home: TestHome, crawl: string): Promise<Record<string, string>> {
  const results = await resultsOf(home, crawl)
  const found = results.filter(({ plugin }) => FILE_HOOKS.includes(plugin))
  return Object.fromEntries(found.map(({ plugin, status, attempt }) => [plugin, `${status} ${attempt}`]))
}

const OF_A_PDF = {
  ...Object.fromEntries(FILE_HOOKS.map((plugin) => [plugin, 'noresults 1'])),
  pdftext: 'succeeded 1',
}

it('a page has no result of them, nor of git, unless it is asked for', async () => {
  const home = await homes.make()
  const crawl = await home.add(`${site.url}/page-1.html`)
  const asked = await home.add('--plugins', 'html,exif,git', `${site.url}/page-1.html?again`)
  const { code, stderr } = await home.run(['run', '--exit-on-idle'])
  expect(code, stderr).toBe(0)
  await expectComplete(home, crawl)
  const plugins = (await resultsOf(home, crawl)).map(({ plugin }) => plugin)
  expect(plugins).toEqual(expect.arrayContaining(['html', 'markdown', 'hashes']))
  expect(plugins.filter((plugin) => [...FILE_HOOKS, 'git'].includes(plugin))).toEqual([])
  const results = await resultsOf(home, asked)
  expect(Object.fromEntries(results.map(({ plugin, output_str }) => [plugin, output_str]))).toMatchObject({
    exif: 'not a file',
    git: 'not the URL of a repository',
  })
})

it.each(['publish.hosted_hook_ended', 'publish.files_published', 'publish.hook_settled', 'publish.results_written'])(
  'a file has one each, also when its worker is killed at %s',
  async (step) => {
    const home = await homes.make()
    const crawl = await home.add(`${site.url}/document.pdf`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: failpoints(home, `${step}=kill9`) })
    expect(code, stderr).toBe(0)
    expect(fired(home).has(step)).toBe(true)
    await expectComplete(home, crawl)
    expect(await fileResults(home, crawl)).toEqual(OF_A_PDF)
    // Its text can be searched.
    expect(readFileSync(join(home.dataDir, 'archive/index/0.js'), 'utf8')).toContain('An evening on the coast')
  },
)

it('the hashes after them wait for what ends in the background, also when a worker died before they began', async () => {
  const home = await homes.make()
  hook(
    home,
    'beside',
    '16_beside.bg.sh',
    'trap "echo made >made.txt; exit" TERM; echo ready; while :; do sleep 0.05; done',
  )
  const crawl = await home.add(`${site.url}/document.pdf`)
  const step = 'publish.hosted_hook_ended'
  const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: failpoints(home, `${step}=kill9`) })
  expect(code, stderr).toBe(0)
  expect(fired(home).has(step)).toBe(true)
  await expectComplete(home, crawl)
  expect(await fileResults(home, crawl)).toEqual(OF_A_PDF)
})

it('one that fails for now is tried again', async () => {
  const home = await homes.make('temporary')
  writeFileSync(join(home.dataDir, 'plugins', 'temporary', 'config.json'), '{ "needs_file": true }')
  const retries = ['-c', 'TEMPORARY_TIMES=1', '-c', 'HOOK_RETRY_SECONDS=0.05']
  const crawl = await home.add(...retries, `${site.url}/document.pdf`)
  const { code, stderr } = await home.run(['run', '--exit-on-idle'])
  expect(code, stderr).toBe(0)
  const results = (await resultsOf(home, crawl)).filter(({ plugin }) => plugin === 'temporary')
  expect(results.map(({ attempt, status }) => [attempt, status])).toEqual([
    [1, 'failed'],
    [2, 'succeeded'],
  ])
})
