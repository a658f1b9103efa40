import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sleep } from '../../../src/base/abort.ts'
import { quietMs } from '../../../src/base/quiet-ms.ts'
import { TRUST_MS } from '../../../src/db/heartbeats.ts'
import { expectComplete, pagesOf, resultsOf } from '../../support/archive.ts'
import { pidsOf, sealedCrawl } from '../../support/observer.ts'
import { hook } from '../../support/plugins.ts'
import { bringToStand, isThere, letGoOn, processesOf } from '../../support/processes.ts'
import { eventually } from '../../support/program.ts'
import { useSharedServer } from '../../support/shared-database.ts'
import { type Site, startSite } from '../../support/site.ts'

const server = useSharedServer()
let site: Site

beforeAll(async () => {
  site = await startSite(1)
})
afterAll(() => site.close())

it('a machine that stood still, while another archived its page, ends its hook at once and publishes nothing', async () => {
  const url = await server.emptyDatabase()
  const [one, two] = [server.newHome(url), server.newHome(url)]
  for (const home of [one, two]) expect((await home.run(['init'])).code).toBe(0)
  const [log, hold] = [join(one.dataDir, 'log'), join(one.dataDir, 'hold')]
  writeFileSync(hold, '')
  hook(
    one,
    'waits',
    '41_waits.sh',
    `while [[ -e ${hold} ]]; do date +%s%3N >>${log}; sleep 0.05; done; echo 1 >one.txt`,
  )
  hook(two, 'waits', '41_waits.sh', 'echo 2 >two.txt')
  const crawl = await one.add('--plugins', 'html,waits', `${site.url}/page-1.html`)
  const first = one.start(['run'])
  await eventually(() => one.value("select count(*) = 1 from archive_result where status = 'succeeded'"))
  await eventually(async () => (await pidsOf(one, 'hook')).length === 1)
  const family = processesOf(one.dataDir).map(({ pid }) => pid)
  const since = performance.now()
  for (const pid of family) await bringToStand(pid)

  await two.query("update node set heartbeat_at = now() - interval '1 hour'")
  for (const table of ['crawl', 'snapshot']) await two.query(`update ${table} set retry_at = now()`)
  const second = two.start(['run'])
  await sealedCrawl(two, crawl)
  const before = await resultsOf(two, crawl)
  await sleep(TRUST_MS - (performance.now() - since))

  const thawed = Date.now()
  for (const pid of family.reverse()) letGoOn(pid)
  await first.says(/cannot know that it leads/)
  await eventually(() => family.every((pid) => pid === first.pid || !isThere(pid)))
  const last = Number(readFileSync(log, 'utf8').trim().split('\n').at(-1))
  expect(last - thawed).toBeLessThan(quietMs(1_000))
  expect(await resultsOf(two, crawl)).toEqual(before)
  expect((await pagesOf(two, crawl)).map(({ status }) => status)).toEqual(['sealed'])
  await expectComplete(two, crawl)

  rmSync(hold)
  await first.says(/leading \(term 2\)/)
  for (const runner of [first, second]) {
    runner.signal('SIGTERM')
    expect((await runner.finished()).code, runner.stderr).toBe(0)
  }
})
