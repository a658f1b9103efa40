import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../support/archive.ts'
import { useHomes } from '../support/homes.ts'
import { eventually } from '../support/program.ts'
import { type Site, startSite } from '../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(6)
})
afterAll(() => site.close())

describe('a page whose hook kills its worker each time', () => {
  it('is given up with failed results after a few attempts, and the crawl is sealed with all its other pages', async () => {
    const home = await homes.make()
    home.install('kills_its_worker')
    const urls = [1, 2, 3, 4].map((number) => `${site.url}/page-${number}.html`)
    const crawl = await home.add('--plugins', 'html,hashes,kills_its_worker', '-c', 'KILLER_URL=page-2', ...urls)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { deadlineMs: 90_000 })
    expect(code, stderr).toBe(0)
    const archived = await expectComplete(home, crawl)
    const poisoned = archived.find(({ url }) => url.endsWith('page-2.html'))!
    for (const result of await resultsOf(home, crawl)) {
      const expected = result.snapshot_id !== poisoned.id || result.plugin === 'html' ? 'succeeded' : 'failed'
      expect(`${result.plugin} ${result.status}`).toBe(`${result.plugin} ${expected}`)
      if (expected === 'failed') expect(result.output_str).toMatch(/given up: 5 attempts at this page/)
    }
    const killed = readFileSync(join(home.dataDir, 'killed.log'), 'utf8').trim().split('\n')
    expect(killed).toHaveLength(5)
    expect(new Set(killed).size).toBe(5)
  })
})

describe('a crawl that kills its worker each time', () => {
  it('is sealed with what it has and says so; another crawl goes on', async () => {
    const home = await homes.make()
    home.install('kills_its_crawl')
    const poisoned = await home.add(
      '--plugins',
      'html,kills_its_crawl',
      '-c',
      'KILLER_URL=page-1',
      `${site.url}/page-1.html`,
      `${site.url}/page-2.html`,
    )
    const other = await home.add('--plugins', 'html,kills_its_crawl', '-c', 'KILLER_URL=page-1', `${site.url}/page-3.html`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { deadlineMs: 120_000 })
    expect(code, stderr).toBe(0)
    await expectComplete(home, other)
    const killed = readFileSync(join(home.dataDir, 'killed.log'), 'utf8').trim().split('\n')
    expect(new Set(killed).size).toBe(10)
    expect(await home.query('select status, message from crawl where id = $1', [poisoned])).toEqual([
      { status: 'sealed', message: 'given up: 10 attempts at this crawl came to no end' },
    ])
    for (const page of await expectComplete(home, poisoned))
      expect(readFileSync(join(home.dataDir, page.output_dir, 'index.html'), 'utf8')).toContain('sealed')
    const dir = await home.value<string>('select output_dir from crawl where id = $1', [poisoned])
    expect(readFileSync(join(home.dataDir, dir, 'index.html'), 'utf8')).toContain('given up: 10 attempts')
  })

  it('begins to count anew with each page that comes to its end', async () => {
    const home = await homes.make()
    home.install('slow')
    const urls = [1, 2, 3].map((number) => `${site.url}/page-${number}.html`)
    const crawl = await home.add('--plugins', 'slow', '-c', 'SLOW_SECONDS=2', ...urls)
    expect((await home.run(['run', '--exclude', 'snapshot', '--exit-on-idle'])).code).toBe(0)
    await home.query('update crawl set attempts = 9')
    const runner = home.start(['run', '--exit-on-idle'], { env: { MAX_SNAPSHOT_WORKERS: '1' } })
    await eventually(() => home.value('select attempts = 10 from crawl'))
    await eventually(() => home.value("select attempts = 1 and status = 'started' from crawl"))
    expect((await runner.finished()).code).toBe(0)
    await expectComplete(home, crawl)
  })
})
