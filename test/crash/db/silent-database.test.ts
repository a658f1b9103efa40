import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DatabaseProxy } from '../../support/database-proxy.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { openRows, pidsOf } from '../../support/observer.ts'
import { isThere } from '../../support/processes.ts'
import { eventually, type Running } from '../../support/program.ts'
import { useProxies } from '../../support/proxies.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

// A server that stands still (SIGSTOP, a network that swallows everything) answers nothing and refuses nothing.
const homes = useHomes()
const proxied = useProxies()
let site: Site
beforeAll(async () => {
  site = await startSite(pages(2))
})
afterAll(() => site.close())

async function behindProxy(): Promise<{ home: TestHome; proxy: DatabaseProxy }> {
  const home = await homes.make()
  home.install('oracle')
  const proxy = await proxied(home)
  return { home, proxy }
}

/** A runner that is busy, with a hook that runs until it is let go. */
async function busy(env: Readonly<Record<string, string>>) {
  const { home, proxy } = await behindProxy()
  home.hold('oracle')
  const urls = [1, 2].map((number) => `${site.url}/page-${number}.html`)
  await home.add('--plugins', 'oracle,hashes', '-c', 'TIMEOUT=1000', ...urls)
  const runner = home.start(['run'], { env: { DATABASE_URL: proxy.url, ...env } })
  await eventually(async () => (await pidsOf(home, 'hook')).length > 0)
  return { home, proxy, runner }
}

/** Below what a leader trusts its lead for without an answer: nobody has waited for that. */
const LIMIT_MS = 24_000

async function leavesInTime(runner: Running, signals: readonly NodeJS.Signals[] = ['SIGTERM']): Promise<void> {
  for (const signal of signals) {
    runner.signal(signal)
    await runner.says(new RegExp(`${signal}: (draining|killing)`))
    await delay(200) // Two at once count as one.
  }
  const { code, stderr } = await runner.finished(LIMIT_MS)
  expect(code, stderr).toBe(signals.length > 1 ? 130 : 0)
}

/** The next runner puts right what could not be written. */
async function expectPutRight(home: TestHome): Promise<void> {
  const next = await home.run(['run', '--maintenance-only'])
  expect(next.code, next.stderr).toBe(0)
  expect(await openRows(home)).toEqual([])
}

// Side by side: nearly all of the time is waiting.
describe.concurrent('one signal while the database is silent', () => {
  const idle = async (signal: NodeJS.Signals) => {
    const { home, proxy } = await behindProxy()
    const runner = home.start(['run'], { env: { DATABASE_URL: proxy.url } })
    await runner.says(/leading/)
    proxy.silence()
    await leavesInTime(runner, [signal])
    expect(runner.stderr).toMatch(/the database (does not answer|is away)/)
    await expectPutRight(home)
  }
  const standingBy = async () => {
    const { home, proxy } = await behindProxy()
    const leader = home.start(['run'])
    await leader.says(/leading/)
    const runner = home.start(['run', '--standby'], { env: { DATABASE_URL: proxy.url } })
    await runner.says(/standing by/)
    proxy.silence()
    await leavesInTime(runner)
    leader.signal('SIGTERM')
    expect((await leader.finished()).code).toBe(0)
    await expectPutRight(home)
  }
  const beforeLeading = async (statement: RegExp) => {
    const { home, proxy } = await behindProxy()
    proxy.silenceOn(statement)
    const runner = home.start(['run'], { env: { DATABASE_URL: proxy.url } })
    await eventually(async () => (await home.value<number>(CONNECTIONS)) > 0)
    await delay(1_000) // It has asked by then.
    await leavesInTime(runner)
    expect(runner.stderr).toMatch(/perhaps for lack of the database: exiting without it/)
    await expectPutRight(home)
  }

  it('ends a runner that is idle, stands by, registers, or is at the gate', async () => {
    await Promise.all([
      idle('SIGTERM'),
      idle('SIGHUP'),
      standingBy(),
      beforeLeading(/insert into "process"/),
      beforeLeading(/runner_term/),
    ])
  })

  const tellsWorkers = async () => {
    const { home, proxy, runner } = await busy({ MAX_SNAPSHOT_WORKERS: '1' })
    proxy.silence()
    runner.signal('SIGTERM')
    await runner.says(/the database does not answer: workers end without it/)
    home.letGo('oracle')
    await runner.says(/waiting for \d+ workers? to end/)
    proxy.pass()
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(0)
    const later = "select count(*)::int from archive_result where plugin = 'hashes' and status = 'succeeded'"
    expect(await home.value(later)).toBe(0)
    await expectPutRight(home)
  }
  const bounded = async () => {
    const { home, proxy, runner } = await busy({ STOP_SECONDS: '6' })
    const hooks = await pidsOf(home, 'hook')
    proxy.silence()
    await leavesInTime(runner)
    for (const pid of hooks) await eventually(() => !isThere(pid))
    home.letGo('oracle')
    await expectPutRight(home)
  }
  const forced = async () => {
    const { home, proxy, runner } = await busy({})
    proxy.silence()
    await leavesInTime(runner, ['SIGINT', 'SIGTERM'])
    home.letGo('oracle')
    await expectPutRight(home)
  }

  it('tells the workers at once; STOP_SECONDS and a second signal kill hooks; and the process is gone', async () => {
    await Promise.all([tellsWorkers(), bounded(), forced()])
  })
})

it.concurrent('STOP_SECONDS bounds a stop while the database answers, too: hooks are cut off, and run again', async () => {
  const { home, runner } = await busy({ STOP_SECONDS: '6' })
  await leavesInTime(runner)
  expect(runner.stderr).toMatch(/drained \(SIGTERM\)/)
  expect(await openRows(home)).toEqual([])
  home.letGo('oracle')
  expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
  expect(await home.query('select distinct outcome, attempts from snapshot')).toEqual([
    { outcome: 'archived', attempts: 0 },
  ])
})

/** Of commands: those of the test itself have another name. */
const CONNECTIONS = `select count(*)::int from pg_stat_activity
  where datname = current_database() and application_name like 'archivebox-ts%'`
