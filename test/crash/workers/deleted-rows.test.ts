import { randomInt } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import type { Tier } from '../../../src/db/tables.ts'
import { detectContainment, releaseContainment } from '../../../src/processes/containment/containment.ts'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { expectOneAtATime, openRows, pidsOf } from '../../support/observer.ts'
import { isThere } from '../../support/processes.ts'
import { eventually, type Running } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(pages(1))
})
afterAll(() => site.close())

/** Does this machine lack a tier? Answers why. */
const lacks = (tier: Tier) =>
  detectContainment(tier, uuidv7())
    .then(releaseContainment)
    .then(() => '', String)
const missing = { basic: '', pidns: await lacks('pidns'), cgroup: await lacks('cgroup') }

const HOOKS = "delete from process where process_type = 'hook'"
const ALL_BELOW = "delete from process where process_type = 'hook' or worker_type = 'snapshot'"

/** A runner in the middle of a hook that would run for ever, and will be short when it begins again. */
async function working(tier: Tier): Promise<{ home: TestHome; crawl: string; runner: Running; worker: number }> {
  const home = await homes.make()
  home.install('oracle')
  const crawl = await home.add('--plugins', 'oracle', '-c', 'ORACLE_SECONDS=1000', `${site.url}/page-1.html`)
  const runner = home.start(['run', '--exit-on-idle'], { env: { CONTAINMENT: tier, MAX_SNAPSHOT_WORKERS: '2' } })
  await eventually(() => existsSync(join(home.dataDir, 'oracle.log')))
  const [worker] = await pidsOf(home, 'snapshot')
  await home.query("update crawl set config = jsonb_set(config, '{env,ORACLE_SECONDS}', '\"0.1\"')")
  return { home, crawl, runner, worker: worker! }
}

async function expectDone(home: TestHome, crawl: string, runner: Running): Promise<void> {
  const { code, stderr } = await runner.finished()
  expect(code, stderr).toBe(0)
  expectOneAtATime(home)
  await expectComplete(home, crawl)
  expect((await resultsOf(home, crawl))[0]).toMatchObject({ status: 'succeeded' })
  expect(await openRows(home)).toEqual([])
}

describe.each((['basic', 'pidns', 'cgroup'] as const).filter((tier) => !missing[tier]))(
  'a hook in the tier %s',
  (tier) => {
    it.each([
      ['of a hook is deleted, and then its worker killed', HOOKS],
      ['of a hook and of its worker are deleted, and then the worker killed', ALL_BELOW],
    ])('whose row %s ends before another copy of it begins', async (_what, statement) => {
      const { home, crawl, runner, worker } = await working(tier)
      await home.query(statement)
      process.kill(worker, 'SIGKILL')
      await expectDone(home, crawl, runner)
    })

    it('whose row is deleted with that of its worker, which stands still, ends with that before another copy begins', async () => {
      const { home, crawl, runner, worker } = await working(tier)
      process.kill(worker, 'SIGSTOP')
      await home.query(ALL_BELOW)
      await home.query('update snapshot set retry_at = now()')
      await expectDone(home, crawl, runner)
      expect(isThere(worker)).toBe(false)
    })
  },
)

describe.skipIf(missing.cgroup)(`what a hook hid in its control group ${missing.cgroup}`, () => {
  it.each([
    ['its row is deleted', HOOKS],
    ['its worker’s is, too', ALL_BELOW],
  ])('ends with the worker when %s', async (_what, statement) => {
    const home = await homes.make()
    home.install('hides_away')
    const name = randomInt(1e9, 1e10)
    const settings = [`HIDES_SECONDS=1000`, `HIDES_NAME=${name}`].flatMap((setting) => ['-c', setting])
    await home.add('--plugins', 'hides_away', ...settings, `${site.url}/page-1.html`)
    const runner = home.start(['run'], { env: { CONTAINMENT: 'cgroup' } })
    const named = (pid: string) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith(`sleep\0${1000}.${name}`)
      } catch {
        return false // Gone.
      }
    }
    const hidden = await eventually(() => readdirSync('/proc').find((pid) => /^\d+$/.test(pid) && named(pid)))
    const [worker] = await pidsOf(home, 'snapshot')
    await home.query("update crawl set config = jsonb_set(config, '{env,HIDES_SECONDS}', '\"0\"')")
    await home.query(statement)
    process.kill(worker!, 'SIGKILL')
    await eventually(() => home.value<boolean>("select status = 'sealed' from crawl"))
    expect(isThere(Number(hidden))).toBe(false)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
    expect(await openRows(home)).toEqual([])
  })
})
