import { afterAll, beforeAll, it } from 'vitest'
import { LEASE_SECONDS } from '../../../src/engine/index.ts'
import { useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

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
    await home.query<{ claim: string; until: Date }>(`
      select claim_token as claim, retry_at as until from crawl where claim_token is not null union all
      select claim_token, retry_at from snapshot where claim_token is not null`)
  const first = await eventually(async () => {
    const found = await leases()
    return found.length === 2 ? found : undefined
  })
  const wait = (LEASE_SECONDS / 3) * 1_000 + 60_000
  // Not by a further claim: a lease that is over is given to somebody else.
  const isRenewed = async () => {
    const now = await leases()
    return first.every((before) => now.some(({ claim, until }) => claim === before.claim && until > before.until))
  }
  await eventually(isRenewed, wait)
  runner.signal('SIGKILL') // Its guardian reaps.
  await runner.finished()
})
