// Constellations in which everybody could wait for somebody else. Each must come to an end by itself: one runner leads,
// work goes on, and whoever only stands by is spared. The long ones wait out the 25 s for which a leader trusts its
// lead: they run side by side.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CONTAINER, noContainers } from '../../support/containers.ts'
import { DatabaseProxy } from '../../support/database-proxy.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { newFolder, TestHome, useHomes } from '../../support/homes.ts'
import { openRows, pidsOf, sealedCrawl } from '../../support/observer.ts'
import { killAll, processesOf } from '../../support/processes.ts'
import { eventually, program, type Running } from '../../support/program.ts'
import { sampled } from '../../support/seed.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

/** Longer than the window of trust, and what the slowest way on takes after it. */
const WINDOW_MS = 120_000
const homes = useHomes()
let site: Site
let original: TestHome
beforeAll(async () => {
  site = await startSite(pages(3))
  original = await homes.original()
})
afterAll(() => site.close())

/** Runs `test` in a home of its own, beside others; in the end nothing of it is left. */
async function inHome(test: (home: TestHome) => Promise<void>): Promise<void> {
  const home = await homes.clone(original)
  try {
    await test(home)
  } finally {
    for (const { pid, isOver } of home.started) if (!isOver) process.kill(pid, 'SIGCONT')
    await homes.discard(home)
  }
}

/** What counts in the end: exactly one leads, and what is queued is done. */
async function expectWorkGoesOn(home: TestHome): Promise<void> {
  const crawl = await home.add('--plugins', 'html', `${site.url}/`)
  await sealedCrawl(home, crawl)
  expect(await pidsOf(home, 'worker_runner')).toHaveLength(1)
}

async function leaveAll(home: TestHome, ...runners: Running[]): Promise<void> {
  for (const runner of runners) runner.signal('SIGTERM')
  for (const runner of runners) expect((await runner.finished()).code, runner.stderr).toBe(0)
  expect(await openRows(home)).toEqual([])
}

const standbys = async (home: TestHome) =>
  (await home.query<{ pid: number }>("select pid from process where standby and status = 'running' order by seq")).map(
    ({ pid }) => pid,
  )

/** A leader and those that stand by behind it, in the order of their registration. */
async function leaderWith(home: TestHome, leader: Running, count: number): Promise<Running[]> {
  await leader.says(/leading/)
  const heirs: Running[] = []
  for (let number = 0; number < count; number += 1) {
    const heir = home.start(['run', '--standby'])
    heirs.push(heir)
    await heir.says(/standing by/)
  }
  return heirs
}

describe.concurrent('a standby', () => {
  // The longest first: they run side by side.
  it.skipIf(noContainers)(
    `does not replace a silent leader that it cannot see and that still holds the data dir ${noContainers || ''}`,
    () =>
      inHome(async (home) => {
        const inside = home.start(['run'], { under: CONTAINER })
        const [heir] = await leaderWith(home, inside, 1)
        const [hidden] = pidsBelow(inside.pid)
        process.kill(hidden!, 'SIGSTOP')
        await heir!.says(
          /the data dir is held by a runner that this database does not show as alive: pid \d+ on .*: standing by/,
          WINDOW_MS,
        )
        expect(await home.value('select term from runner_term')).toBe('1')
        process.kill(hidden!, 'SIGKILL')
        await inside.finished()
        await heir!.says(/leading \(term 2\)/, WINDOW_MS)
        await expectWorkGoesOn(home)
        await leaveAll(home, heir!)
      }),
  )

  it('replaces a leader that stands still: it is ended, and work goes on', () =>
    inHome(async (home) => {
      const leader = home.start(['run'])
      const [heir] = await leaderWith(home, leader, 1)
      leader.signal('SIGSTOP')
      await heir!.says(/pid \d+ has fallen silent/, WINDOW_MS)
      await heir!.says(/leading \(term 2\)/)
      await leader.finished()
      await expectWorkGoesOn(home)
      await leaveAll(home, heir!)
    }))

  it('replaces a leader that stands still and came after it', () =>
    inHome(async (home) => {
      const first = home.start(['run'])
      const [heir] = await leaderWith(home, first, 1)
      const second = home.start(['run'])
      await second.says(/leading \(term 2\)/)
      await first.finished()
      second.signal('SIGSTOP')
      await heir!.says(/leading \(term 3\)/, WINDOW_MS)
      await second.finished()
      await expectWorkGoesOn(home)
      await leaveAll(home, heir!)
    }))

  it('passes a newer one that stands still', () =>
    inHome(async (home) => {
      const leader = home.start(['run'])
      const [older, newer] = await leaderWith(home, leader, 2)
      newer!.signal('SIGSTOP')
      leader.signal('SIGKILL')
      await older!.says(/leading \(term 2\)/, WINDOW_MS)
      newer!.signal('SIGCONT')
      await expectWorkGoesOn(home)
      await leaveAll(home, older!, newer!)
    }))

  it.each([
    ['closed', "update process set status = 'lost', ended_at = now() where standby"],
    ['deleted', 'delete from process where standby'],
  ])('whose row was %s registers again, and leads when its turn comes', (_what, statement) =>
    inHome(async (home) => {
      const leader = home.start(['run'])
      const [heir] = await leaderWith(home, leader, 1)
      await home.query(statement)
      await heir!.says(/registering again/)
      await eventually(async () => (await standbys(home)).length === 1)
      leader.signal('SIGKILL')
      await heir!.says(/leading \(term 2\)/)
      await expectWorkGoesOn(home)
      await leaveAll(home, heir!)
    }),
  )

  it('that was asked for the lead by a runner which is gone since keeps it when it leads, and leaves when it is told to', () =>
    inHome(async (home) => {
      const leader = home.start(['run'])
      const [heir] = await leaderWith(home, leader, 1)
      const gone = await home.value("select id from process where worker_type = 'worker_runner'")
      await home.query('update process set handoff_requested_by = $1, handoff_grace_s = 10 where standby', [gone])
      leader.signal('SIGKILL')
      await heir!.says(/leading \(term 2\)/)
      await expectWorkGoesOn(home)
      expect(await home.value('select term from runner_term')).toBe('2')
      await leaveAll(home, heir!)
      expect(heir!.stderr).not.toContain('a newer runner')
    }))

  it('that lost the database at the gate stands by again when it is back, and the next runner spares it', () =>
    inHome(async (home) => {
      const proxy = await DatabaseProxy.before(home.databaseUrl)
      try {
        const leader = home.start(['run'])
        await leader.says(/leading/)
        const env = { DATABASE_URL: proxy.url, ...failpoints(home, 'gate.locked=stop') }
        const heir = home.start(['run', '--standby'], { env })
        await heir.says(/standing by/)
        leader.signal('SIGKILL')
        await eventually(() => fired(home).has('gate.locked'))
        proxy.refuse()
        heir.signal('SIGCONT')
        await heir.says(/the database is away/)
        const next = home.start(['run'])
        await next.says(/going before runner pid/)
        proxy.pass()
        await next.says(/leading \(term 2\)/)
        expect(next.stderr).not.toContain('killing')
        await heir.says(/standing by[\s\S]*standing by/)
        await expectWorkGoesOn(home)
        next.signal('SIGKILL')
        await heir.says(/leading \(term 3\)/)
        await leaveAll(home, heir)
      } finally {
        await proxy.close()
      }
    }))

  it.each(sampled(['gate.looked', 'gate.reaped'], 1, 'newer'))(
    'that comes to the gate while a newer runner is at %s is neither killed nor closed',
    (step) =>
      inHome(async (home) => {
        const leader = home.start(['run'])
        await leader.says(/leading/)
        const heir = home.start(['run', '--standby'], { env: { ARCHIVEBOX_FAILPOINTS: 'gate.looked=sleep:6000' } })
        await heir.says(/standing by/)
        const registeredAt = () => home.value<Date>('select started_at from process where pid = $1', [heir.pid])
        const before = await registeredAt()
        // It sees that its turn has come, and cannot say so before the newer runner has looked.
        const hand = new pg.Client({ connectionString: home.databaseUrl })
        await hand.connect()
        await hand.query('begin')
        await hand.query('select 1 from process where standby for update')
        leader.signal('SIGKILL')
        await leader.finished()
        await eventually(() =>
          home.value<boolean>("select count(*) > 0 from pg_locks where not granted and locktype = 'transactionid'"),
        )
        const newer = home.start(['run'], { env: failpoints(home, `${step}=sleep:2000`) })
        await eventually(() => fired(home).has(step))
        await hand.query('commit')
        await hand.end()
        await newer.says(/leading \(term 2\)/)
        await heir.says(/a newer runner \(pid \d+\) is taking over[\s\S]*standing by/)
        expect(heir.isOver, heir.stderr).toBe(false)
        expect(await registeredAt(), 'nobody closed its row').toEqual(before)
        await expectWorkGoesOn(home)
        newer.signal('SIGKILL')
        await heir.says(/leading \(term 3\)/)
        await leaveAll(home, heir)
      }),
  )
})

describe.concurrent('two standbys, one of which leads', () => {
  it('come to terms after the database was silent for longer than a leader trusts its lead', () =>
    inHome(async (home) => {
      const proxy = await DatabaseProxy.before(home.databaseUrl)
      try {
        const through = { env: { DATABASE_URL: proxy.url } }
        const first = home.start(['run', '--standby'], through)
        await first.says(/leading/)
        const second = home.start(['run', '--standby'], through)
        await second.says(/standing by/)
        proxy.silence()
        await first.says(/cannot know that it leads/, WINDOW_MS)
        await delay(5_000)
        proxy.reset()
        proxy.pass()
        await eventually(() => home.value("select true from runner_term where term = '2'"), WINDOW_MS)
        await expectWorkGoesOn(home)
        expect(await standbys(home)).toHaveLength(1)
        await leaveAll(home, first, second)
      } finally {
        await proxy.close()
      }
    }))

  it('come to terms after the one that leads stood still', () =>
    inHome(async (home) => {
      const first = home.start(['run', '--standby'])
      const [second] = await leaderWith(home, first, 1)
      first.signal('SIGSTOP')
      await second!.says(/leading \(term 2\)/, WINDOW_MS)
      await expectWorkGoesOn(home)
      await first.says(/orchestrator pid \d+ has the runner: standing by/)
      second!.signal('SIGKILL')
      await first.says(/leading \(term 3\)/)
      await leaveAll(home, first)
    }))
})

describe.concurrent('an embedded server that dies together with the leader', () => {
  it('is started again by the standby, which leads', async () => {
    const dataDir = newFolder()
    const cli = (...args: string[]) => program(args, { env: { DATA_DIR: dataDir } })
    expect((await cli('init')).code).toBe(0)
    expect((await cli('db', 'start')).code).toBe(0)
    const home = new TestHome(dataDir, (await cli('db', 'url')).stdout.trim(), {})
    const embedded = { env: { DATABASE_URL: '' } }
    try {
      const leader = home.start(['run'], embedded)
      await leader.says(/leading/)
      const heir = home.start(['run', '--standby'], embedded)
      await heir.says(/standing by/)
      const postmaster = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
      leader.signal('SIGKILL')
      process.kill(postmaster, 'SIGKILL')
      await leader.finished()
      await heir.says(/the database is away/)
      await heir.says(/started the database server again/, WINDOW_MS)
      await heir.says(/leading \(term 2\)/, WINDOW_MS)
      heir.signal('SIGTERM')
      expect((await heir.finished()).code, heir.stderr).toBe(0)
    } finally {
      await home.close()
      await cli('db', 'stop', '--force')
      const left = processesOf(dataDir)
      killAll(left)
      rmSync(dataDir, { recursive: true, force: true })
      expect(left.map(({ command }) => command)).toEqual([])
    }
  })
})

function pidsBelow(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}
