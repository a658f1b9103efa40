import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Bell } from '../../src/base/abort.ts'
import { dataDirId } from '../../src/base/data-dir-id.ts'
import { Log } from '../../src/base/log.ts'
import { Stop } from '../../src/base/stop.ts'
import { openDatabase } from '../../src/db/database.ts'
import type { Home } from '../../src/db/home.ts'
import { insertStarting, markRunning, type NewProcess } from '../../src/db/processes.ts'
import { identityOf } from '../../src/processes/identity.ts'
import { currentMachine } from '../../src/processes/machine.ts'
import * as ownership from '../../src/runner/ownership.ts'
import { standbyUntilLeaderNeeded, standbyUntilRuntimeStackNeeded } from '../../src/runner/standby-until.ts'
import { useHomes } from '../support/homes.ts'
import { eventually } from '../support/program.ts'

const homes = useHomes()
const children: ChildProcess[] = []
let home: Home

beforeEach(async () => {
  const { dataDir, databaseUrl } = await homes.make()
  const db = openDatabase(databaseUrl, { name: 'the test' })
  home = {
    db,
    databaseUrl,
    embedded: true,
    machineId: (await currentMachine(db)).id,
    dataDir,
    dataDirId: await dataDirId(dataDir, () => {}),
  }
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await home.db.destroy()
})

interface Command {
  readonly id: string
  readonly pid: number
  end(): Promise<void>
}

/** A real process, registered as a command of this type. */
async function command(processType: NewProcess['processType'], values: Partial<NewProcess> = {}): Promise<Command> {
  const child = spawn('sleep', ['300'])
  children.push(child)
  const row = await insertStarting(home, {
    processType,
    parentId: null,
    runnerId: null,
    pwd: home.dataDir,
    cmd: ['sleep'],
    ...values,
  })
  await markRunning(home.db, row.id, (await identityOf(child.pid!))!)
  const end = async () => {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  return { id: row.id, pid: child.pid!, end }
}

describe('live commands of a data dir', () => {
  it('are those whose process is there, the newest last; a kill needs no farewell', async () => {
    const one = await command('server', { url: 'http://127.0.0.1:8000' })
    const two = await command('server', { url: 'http://127.0.0.1:9000' })
    const ids = async (which: Parameters<typeof ownership.liveProcesses>[1]) =>
      (await ownership.liveProcesses(home, which)).map(({ id }) => id)
    expect(await ids({ type: 'server' })).toEqual([one.id, two.id])
    expect(await ids({ type: 'server', url: 'http://127.0.0.1:8000' })).toEqual([one.id])
    expect(await ids({ type: 'add' })).toEqual([])
    expect(await ownership.commandIsNewest(home, two.id, { type: 'server' })).toBe(true)
    expect(await ownership.commandIsNewest(home, one.id, { type: 'server' })).toBe(false)
    expect(await ownership.commandIsNewest(home, one.id, { type: 'server', url: 'http://127.0.0.1:8000' })).toBe(true)
    await two.end()
    expect((await ownership.newestLiveProcess(home, { type: 'server' }))?.id).toBe(one.id)
  })

  it('are found from what they started', async () => {
    const server = await command('server')
    const daemon = await command('orchestrator', { parentId: server.id })
    const below = await command('cli', { parentId: daemon.id })
    expect((await ownership.currentCommand(home, below.id, 'server'))?.id).toBe(server.id)
    expect((await ownership.currentCommand(home, below.id, 'orchestrator'))?.id).toBe(daemon.id)
    expect(await ownership.currentCommand(home, below.id, 'add')).toBeUndefined()
    expect((await ownership.ownerOf(home, below.id))?.id).toBe(server.id)
  })

  it('come to an end where a hand has made a circle of parents', async () => {
    const one = await command('orchestrator')
    const two = await command('orchestrator', { parentId: one.id })
    await sql`update process set parent_id = ${two.id} where id = ${one.id}`.execute(home.db)
    expect(await ownership.ownerOf(home, two.id)).toBeUndefined()
    expect((await ownership.runtimeStackOwner(home))?.id).toBe(two.id)
  })
})

describe('the runtime stack', () => {
  it('belongs to the newest server; without one to the newest runner that no supervisord started; never to add or update', async () => {
    const supervisord = await command('supervisord')
    await command('orchestrator', { parentId: supervisord.id })
    await command('add')
    expect(await ownership.runtimeStackOwner(home)).toBeUndefined()
    const runner = await command('orchestrator')
    expect((await ownership.runtimeStackOwner(home))?.id).toBe(runner.id)
    const server = await command('server')
    await command('orchestrator')
    expect(await ownership.commandOwnsRuntimeStack(home, server.id)).toBe(true)
    expect(await ownership.commandOwnsRuntimeStack(home, runner.id)).toBe(false)
    expect(ownership.runtimeStackComponentLabel((await ownership.runtimeStackOwner(home))!)).toBe('server and runner')
    expect(ownership.runtimeStackComponentLabel({ process_type: 'add' })).toBe('runner')
  })
})

describe('the runner', () => {
  it('may be had by the newest of server, add and update', async () => {
    const server = await command('server')
    await command('orchestrator')
    expect(await ownership.commandOwnsForegroundRunner(home, server.id)).toBe(true)
    const update = await command('update')
    expect((await ownership.foregroundRunnerOwner(home))?.id).toBe(update.id)
    const newer = await command('server')
    expect(await ownership.commandOwnsForegroundRunner(home, newer.id)).toBe(true)
    await newer.end()
    await update.end()
    expect(await ownership.commandOwnsForegroundRunner(home, server.id)).toBe(true)
  })

  it('is who leads; those at the gate are live too, those who stand by are not counted', async () => {
    await command('orchestrator', { workerType: 'runner_waiting', standby: true })
    const waiting = await command('orchestrator', { workerType: 'runner_waiting' })
    expect((await ownership.liveRunnerProcesses(home)).map(({ id }) => id)).toEqual([waiting.id])
    expect(await ownership.healthyOrchestrator(home)).toBeUndefined()
    const leader = await command('orchestrator', { workerType: 'worker_runner', term: 1 })
    expect((await ownership.healthyOrchestrator(home))?.id).toBe(leader.id)
    await leader.end()
    expect(await ownership.healthyOrchestrator(home)).toBeUndefined()
  })
})

describe('standing by', () => {
  const said: string[] = []
  const rethrow = (error: unknown) => {
    throw error
  }
  const options = () => {
    said.length = 0
    const log = new Log('test', ({ text }) => said.push(text))
    return { home, log, stop: new Stop(), bell: new Bell(), away: rethrow }
  }

  it('lasts until no newer process of the type is left, is said once, and tells who was in the way', async () => {
    const older = await command('server')
    const newer = await command('server')
    const waiting = standbyUntilLeaderNeeded(options(), older.id, { type: 'server' })
    await eventually(() => said.length === 1)
    expect(said[0]).toBe(
      `server pid ${newer.pid} has the server and runner: standing by; work resumes here when it ends`,
    )
    await newer.end()
    expect(await waiting).toMatchObject({ resumed: true, previousOwnerPid: newer.pid })
    expect(said).toHaveLength(2)
  })

  it('does not wait for one that has ended since its row was read', async () => {
    const older = await command('server')
    const newer = await command('server')
    const { bell, ...known } = options()
    const waits = vi.spyOn(bell, 'wait')
    const waitsFor = (why: string | null) => {
      if (why === null) return
      process.kill(newer.pid, 'SIGKILL')
      while (!/\) [ZX] /.test(readFileSync(`/proc/${newer.pid}/stat`, 'utf8'))); // The kernel takes a moment.
    }
    const waited = await standbyUntilLeaderNeeded({ ...known, bell, waitsFor }, older.id, { type: 'server' })
    expect(waited).toMatchObject({ resumed: true, previousOwnerPid: newer.pid })
    expect(waits).not.toHaveBeenCalled()
  })

  it('is over at once for the owner of the stack, and ends without it when we are told to stop', async () => {
    const server = await command('server')
    expect(await standbyUntilRuntimeStackNeeded(options(), server.id)).toMatchObject({
      resumed: true,
      previousOwnerPid: undefined,
    })
    const other = await command('server')
    const stopping = options()
    const waiting = standbyUntilRuntimeStackNeeded(stopping, server.id)
    await eventually(() => said.length === 1)
    stopping.stop.requestDrain()
    expect(await waiting).toMatchObject({ resumed: false, previousOwnerPid: other.pid })
  })
})
