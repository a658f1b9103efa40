import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { dataDirId } from '../../../src/base/data-dir-id.ts'
import { openDatabase } from '../../../src/db/database.ts'
import type { Home } from '../../../src/db/home.ts'
import { insertStarting, markEnded, markRunning } from '../../../src/db/processes.ts'
import { ownIdentity } from '../../../src/processes/identity.ts'
import { currentMachine } from '../../../src/processes/machine.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { openRows, sealedCrawl } from '../../support/observer.ts'
import { eventually } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
beforeAll(async () => {
  site = await startSite(pages(3))
})
afterAll(() => site.close())

async function standbysOf(home: TestHome): Promise<number[]> {
  const rows = await home.query<{ pid: number }>(
    "select pid from process where standby and status = 'running' order by seq",
  )
  return rows.map(({ pid }) => pid)
}

describe('run --standby', () => {
  it('waits while a runner leads, is left alone by a newer one, and leads when that is killed', async () => {
    const home = await homes.make()
    const first = home.start(['run'])
    await first.says(/leading \(term 1\)/)
    const heir = home.start(['run', '--standby'])
    await heir.says(/has the runner: standing by/)
    const second = home.start(['run'])
    await second.says(/leading \(term 2\)/)
    expect((await first.finished()).code).toBe(0)
    const { stdout } = await home.run(['status', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({
      runner: { state: 'running', pid: second.pid },
      standbys: [{ pid: heir.pid }],
    })

    second.signal('SIGKILL')
    await heir.says(/leading \(term 3\)/)
    expect(heir.stderr.match(/standing by/g)).toHaveLength(1)
    expect(await standbysOf(home)).toEqual([])
    const crawl = await home.add(`${site.url}/`)
    await sealedCrawl(home, crawl)
    heir.signal('SIGTERM')
    expect((await heir.finished()).code).toBe(0)
    expect(await openRows(home)).toEqual([])
  })

  it('leads at once where nobody does, and gives way to a newer runner without leaving', async () => {
    const home = await homes.make()
    const heir = home.start(['run', '--standby'])
    await heir.says(/leading \(term 1\)/)
    const newer = home.start(['run', '--exit-on-idle'])
    await newer.says(/leading \(term 2\)/)
    expect((await newer.finished()).code).toBe(0)
    await heir.says(/leading \(term 3\)/)
    heir.signal('SIGTERM')
    expect((await heir.finished()).code).toBe(0)
  })

  it('gives way by the request in its row, and outlives the signal that follows it', async () => {
    const home = await homes.make()
    const heir = home.start(['run', '--standby'])
    await heir.says(/leading \(term 1\)/)
    const newer = home.start(['run'], { env: { ARCHIVEBOX_FAILPOINTS: 'gate.asked=sleep:1500' } })
    await heir.says(/SIGTERM: that of the newer runner, which takes over/)
    await newer.says(/leading \(term 2\)/)
    newer.signal('SIGTERM')
    expect((await newer.finished()).code).toBe(0)
    await heir.says(/leading \(term 3\)/)
    heir.signal('SIGTERM')
    expect((await heir.finished()).code).toBe(0)
  })

  it('of several, the newest leads and the others wait on', async () => {
    const home = await homes.make()
    const leader = home.start(['run'])
    await leader.says(/leading/)
    const heirs = [home.start(['run', '--standby']), home.start(['run', '--standby']), home.start(['run', '--standby'])]
    // Each has looked, and has seen the leader: one that looks as that is killed may not see a newer one yet.
    for (const heir of heirs) await heir.says(/standing by/)
    const newest = (await standbysOf(home)).at(-1)
    leader.signal('SIGKILL')
    const next = heirs.find(({ pid }) => pid === newest)!
    await next.says(/leading \(term 2\)/)
    await eventually(async () => (await standbysOf(home)).length === 2)
    expect(heirs.filter(({ isOver }) => isOver)).toEqual([])
    for (const heir of heirs) heir.signal('SIGTERM')
    for (const heir of heirs) expect((await heir.finished()).code, heir.stderr).toBe(0)
  })

  it('that is told to stop while it waits leaves with 0', async () => {
    const home = await homes.make()
    const leader = home.start(['run'])
    await leader.says(/leading/)
    const heir = home.start(['run', '--standby'])
    await heir.says(/standing by/)
    heir.signal('SIGINT')
    expect((await heir.finished()).code).toBe(0)
    leader.signal('SIGTERM')
    await leader.finished()
    expect(await openRows(home)).toEqual([])
  })
})

describe('run --stay', () => {
  it('takes over, stands by when it is superseded, and leads again when nobody newer is left', async () => {
    const home = await homes.make()
    const first = home.start(['run'])
    await first.says(/leading \(term 1\)/)
    const stays = home.start(['run', '--stay'])
    await stays.says(/leading \(term 2\)/)
    expect((await first.finished()).code).toBe(0)
    const newer = home.start(['run', '--stay'])
    await newer.says(/leading \(term 3\)/)
    await stays.says(/orchestrator pid \d+ has the runner: standing by/)
    const { stdout } = await home.run(['status', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ runner: { pid: newer.pid }, standbys: [{ pid: stays.pid }] })
    newer.signal('SIGKILL')
    await stays.says(/leading \(term 4\)/)
    // Two of them do not fight: the newest leads, and the other waits.
    const newest = home.start(['run', '--stay'])
    await newest.says(/leading \(term 5\)/)
    await eventually(async () => (await standbysOf(home)).includes(stays.pid))
    stays.signal('SIGTERM')
    expect((await stays.finished()).code, stays.stderr).toBe(0)
    newest.signal('SIGTERM')
    expect((await newest.finished()).code, newest.stderr).toBe(0)
    expect(newest.stderr).not.toMatch(/standing by/)
    expect(await openRows(home)).toEqual([])
  })
})

describe('a daemon that belongs to a server', () => {
  const endings: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of endings.splice(0)) await end()
  })

  /** Registers this very process as a server, as a program that serves the archive would. */
  async function asServer(home: TestHome): Promise<string> {
    const db = openDatabase(home.databaseUrl, { name: 'the test' })
    const here = { db, databaseUrl: home.databaseUrl, embedded: false, dataDir: home.dataDir }
    const known: Home = {
      ...here,
      machineId: (await currentMachine(db)).id,
      dataDirId: await dataDirId(home.dataDir, () => {}),
    }
    const { id } = await insertStarting(known, {
      processType: 'server',
      parentId: null,
      runnerId: null,
      pwd: home.dataDir,
      cmd: ['server'],
    })
    await markRunning(db, id, await ownIdentity())
    endings.push(async () => {
      await markEnded(db, id, { code: 0, signal: null })
      await db.destroy()
    })
    return id
  }

  it('lends the lead to add --run, says so once, and resumes by itself', async () => {
    const home = await homes.make()
    const server = await asServer(home)
    const daemon = home.start(['run', '--daemon'], { env: { ARCHIVEBOX_STARTED_BY: server } })
    await daemon.says(/leading \(term 1\)/)
    const added = home.start(['add', '--run', `${site.url}/`])
    await daemon.says(/add pid \d+ has the runner: standing by; work resumes here when it ends/)
    expect((await added.finished()).code, added.stderr).toBe(0)
    await daemon.says(/is out of the way: resuming/)
    await daemon.says(/leading \(term 3\)/)
    expect(daemon.stderr.match(/standing by/g)).toHaveLength(1)
    const later = await home.add(`${site.url}/1`)
    await sealedCrawl(home, later)
    daemon.signal('SIGTERM')
    expect((await daemon.finished()).code).toBe(0)
  })

  it('stands by behind a newer runner of another command, too, and does not fight for the lead', async () => {
    const home = await homes.make()
    const daemon = home.start(['run', '--daemon'], { env: { ARCHIVEBOX_STARTED_BY: await asServer(home) } })
    await daemon.says(/leading \(term 1\)/)
    const other = home.start(['run'])
    await other.says(/leading \(term 2\)/)
    await daemon.says(/orchestrator pid \d+ has the runner: standing by/)
    other.signal('SIGTERM')
    expect((await other.finished()).code).toBe(0)
    await daemon.says(/leading \(term 3\)/)
    daemon.signal('SIGTERM')
    expect((await daemon.finished()).code).toBe(0)
  })

  it('one that stands on its own leaves when it is superseded', async () => {
    const home = await homes.make()
    const daemon = home.start(['run', '--daemon'])
    await daemon.says(/leading \(term 1\)/)
    const other = home.start(['run', '--exit-on-idle'])
    expect((await other.finished()).code).toBe(0)
    expect(await daemon.finished()).toMatchObject({ code: 0, stderr: expect.stringContaining('handed over') })
  })
})
