import { afterAll, beforeAll, it } from 'vitest'
import { LEASE_SECONDS } from '../../src/engine/index.ts'
import { useHomes } from '../support/homes.ts'
import { eventually } from '../support/program.ts'
import { type Site, startSite } from '../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(1)
})
afterAll(() => site.close())

it('a crawl and a page that take longer than a third of their lease have it renewed by their workers', async () => {
  const home = await homes.make()
  home.install('slow')
  await home.add('--plugins', 'slow', '-c', 'SLOW_SECONDS=1000', `${site.url}/page-1.html`)
  const runner = home.start(['run'])
  const leases = async () =>
    await home.query<{ model: string; until: Date }>(`
      select 'crawl' as model, retry_at as until from crawl where claim_token is not null union all
      select 'snapshot', retry_at from snapshot where claim_token is not null`)
  const first = await eventually(async () => {
    const found = await leases()
    return found.length === 2 ? found : undefined
  })
  const wait = (LEASE_SECONDS / 3) * 1_000 + 60_000
  const before = (model: string) => first.find((one) => one.model === model)!.until
  await eventually(async () => (await leases()).every(({ model, until }) => until > before(model)), wait)
  runner.signal('SIGKILL') // Its guardian reaps.
  await runner.finished()
})
