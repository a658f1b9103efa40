import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../support/archive.ts'
import { useHomes } from '../support/homes.ts'
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
