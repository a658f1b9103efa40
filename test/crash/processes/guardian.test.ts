import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DatabaseProxy } from '../../support/database-proxy.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { openRows, pidsOf, sealedCrawl } from '../../support/observer.ts'
import { isThere, processesOf, type Seen } from '../../support/processes.ts'
import { eventually, type Running } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(pages(3))
})
afterAll(() => site.close())

/**
 * A leader in the middle of hooks that would run for ever: shells with a grandchild, and a child in a session of its
 * own.
 */
async function leading(
  env: Record<string, string> = {},
  made: TestHome | Promise<TestHome> = homes.make(),
): Promise<{ home: TestHome; crawl: string; runner: Running }> {
  const home = await made
  home.install('family')
  const crawl = await home.add('--plugins', 'headers,family', '-c', 'FAMILY_SECONDS=1000', `${site.url}/page-1.html`)
  const runner = home.start(['run'], { env })
  await eventually(
    () => processesOf(home.dataDir).filter(({ command }) => command.includes('read -r -u 8')).length >= 2,
    120_000, // Six programs start before.
  )
  return { home, crawl, runner }
}

const isGuardian = ({ command }: Seen) => command.includes('archivebox-ts-guardian')
const guardians = (home: TestHome) => processesOf(home.dataDir).filter(isGuardian)

describe('the guardian', () => {
  it('ends everything that a leader killed with -9 left running, and closes its rows, with no other runner there', async () => {
    const { home, runner } = await leading()
    const below = processesOf(home.dataDir).filter(({ pid }) => pid !== runner.pid)
    // Stopped workers do not see that their leader is gone, and leave all of it to the guardian.
    for (const pid of [...(await pidsOf(home, 'crawl')), ...(await pidsOf(home, 'snapshot'))])
      process.kill(pid, 'SIGSTOP')
    runner.signal('SIGKILL')
    await eventually(() => below.every((process) => isGuardian(process) || !isThere(process.pid)))
    await eventually(async () => (await openRows(home)).length === 0)
    await eventually(() => below.every(({ pid }) => !isThere(pid)))
    expect(await home.value('select status from process where pid = $1', [runner.pid])).toBe('lost')
    expect(await home.query("select id from process where status = 'lost' and exit_code is not null")).toEqual([])
    expect(await home.value('select count(*) from snapshot where claimed_by is not null')).toBe('0')
    expect(await home.value('select retry_at <= now() from snapshot')).toBe(true)
    const log = readFileSync(join(home.dataDir, 'logs', 'guardian.log'), 'utf8')
    expect(log).toMatch(/runner \S+ \(pid \d+\) died: ended [1-9]\d* of its processes/)
  })

  it('ends what died together with its leader left behind, by that leader’s mark alone: the database may be away', async () => {
    const made = await homes.make()
    const proxy = await DatabaseProxy.before(made.databaseUrl)
    try {
      const { home, runner } = await leading({ DATABASE_URL: proxy.url, CONTAINMENT: 'basic' }, made)
      const workers = [...(await pidsOf(home, 'crawl')), ...(await pidsOf(home, 'snapshot'))]
      const below = processesOf(home.dataDir).filter(({ pid }) => pid !== runner.pid)
      proxy.refuse()
      // The hooks' children have no parent left that they could be found by.
      for (const pid of [runner.pid, ...workers]) process.kill(pid, 'SIGKILL')
      await eventually(() => below.every((process) => isGuardian(process) || !isThere(process.pid)))
      proxy.pass()
      await eventually(async () => (await openRows(home)).length === 0)
    } finally {
      await proxy.close()
    }
  })

  it('is deaf to signals that end others, and costs next to nothing while it waits', async () => {
    const { home, runner } = await leading()
    const [guardian] = guardians(home)
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(guardian!.pid, signal)
    const status = readFileSync(`/proc/${guardian!.pid}/status`, 'utf8')
    expect(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1])).toBeLessThan(8_000)
    runner.signal('SIGKILL')
    await eventually(async () => (await openRows(home)).length === 0)
  })

  it('is replaced when it dies', async () => {
    const { home, runner } = await leading()
    const [first] = guardians(home)
    process.kill(first!.pid, 'SIGKILL')
    await runner.says(/the guardian ended \(SIGKILL\): starting another/)
    const second = await eventually(() => guardians(home)[0])
    expect(second.pid).not.toBe(first!.pid)
    runner.signal('SIGKILL')
    await eventually(async () => (await openRows(home)).length === 0)
  })

  it('is up before the leader starts anything', async () => {
    const home = await homes.make()
    await home.add('--plugins', 'headers', `${site.url}/page-1.html`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], {
      env: { ARCHIVEBOX_FAILPOINTS: 'guardian.up=sleep:1500' },
    })
    expect(code, stderr).toBe(0)
    const waited = "select min(w.created_at) - min(r.started_at) > interval '1.4 s' from process w, process r"
    expect(await home.value(`${waited} where w.process_type = 'worker' and r.process_type = 'orchestrator'`)).toBe(true)
  })

  it('leaves with its runner, last', async () => {
    const home = await homes.make()
    await home.add('--plugins', 'headers', `${site.url}/page-1.html`)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect(guardians(home)).toEqual([])
    expect(readdirSync(join(home.dataDir, 'logs'))).toContain('guardian.log')
    expect(readFileSync(join(home.dataDir, 'logs', 'guardian.log'), 'utf8')).toBe('')
  })

  it('is the only one that holds the other end of its pipe, besides the leader', async () => {
    const { home, runner } = await leading()
    const [guardian] = guardians(home)
    const ends = socketsOf(runner.pid)
    for (const inherited of socketsOf(runner.pid, [0, 1, 2])) ends.delete(inherited)
    expect(ends.size).toBeGreaterThan(0)
    for (const { pid } of processesOf(home.dataDir)) {
      if (pid === runner.pid || pid === guardian!.pid) continue
      // An inherited descriptor would be the same socket under the same number of the kernel.
      expect(
        [...socketsOf(pid)].filter((socket) => ends.has(socket)),
        `descriptors of ${pid}`,
      ).toEqual([])
    }
    runner.signal('SIGKILL')
    await eventually(async () => (await openRows(home)).length === 0)
  })

  it('that is killed together with its leader leaves the reaping to the next runner', async () => {
    const { home, crawl, runner } = await leading()
    // Stopped workers do not see that their leader is gone.
    for (const pid of [...(await pidsOf(home, 'crawl')), ...(await pidsOf(home, 'snapshot'))])
      process.kill(pid, 'SIGSTOP')
    for (const { pid } of guardians(home)) process.kill(pid, 'SIGSTOP')
    runner.signal('SIGKILL')
    for (const { pid } of guardians(home)) process.kill(pid, 'SIGKILL')
    await runner.finished()
    expect(processesOf(home.dataDir).length).toBeGreaterThan(0)
    await home.query("update crawl set config = jsonb_set(config, '{env,FAMILY_SECONDS}', '\"0.1\"')")
    const next = home.start(['run'])
    await sealedCrawl(home, crawl)
    next.signal('SIGTERM')
    expect((await next.finished()).code).toBe(0)
    expect(await openRows(home)).toEqual([])
  })

  it('that is held up is ended by the next runner, which it does not touch', async () => {
    const { home, crawl, runner } = await leading({ ARCHIVEBOX_FAILPOINTS: 'guardian.noticed=sleep:60000' })
    await home.query("update crawl set config = jsonb_set(config, '{env,FAMILY_SECONDS}', '\"0.1\"')")
    const [guardian] = guardians(home)
    runner.signal('SIGKILL')
    await runner.finished()
    const next = home.start(['run'])
    await sealedCrawl(home, crawl)
    expect(isThere(guardian!.pid)).toBe(false)
    expect(
      await home.query("select id from process where term = 2 and (status = 'lost' or exit_signal is not null)"),
    ).toEqual([])
    next.signal('SIGTERM')
    expect((await next.finished()).code).toBe(0)
  })
})

/** The sockets that a process holds, or those of some of its descriptors. */
function socketsOf(pid: number, only?: readonly number[]): Set<string> {
  const found = openFiles(pid).flatMap((fd) => {
    if (only && !only.includes(Number(fd))) return []
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
    } catch {
      return []
    }
  })
  return new Set(found.filter((target) => target.startsWith('socket:')))
}

function openFiles(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`)
  } catch {
    return [] // It has ended.
  }
}
