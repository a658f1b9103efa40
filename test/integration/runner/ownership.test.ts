import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Bell } from '../../../src/base/abort.ts'
import { dataDirId } from '../../../src/base/data-dir-id.ts'
import { uuidv7 } from '../../../src/base/ids.ts'
import { Log } from '../../../src/base/log.ts'
import { Stop } from '../../../src/base/stop.ts'
import { openDatabase } from '../../../src/db/database.ts'
import type { Home } from '../../../src/db/home.ts'
import type { NewProcess } from '../../../src/db/new-process.ts'
import { insertStarting, markRunning } from '../../../src/db/processes.ts'
import { identityOf } from '../../../src/processes/identity.ts'
import { currentMachine } from '../../../src/processes/machine.ts'
import {
  commandOwnsForegroundRunner,
  foregroundRunnerOwner,
  healthyOrchestrator,
  liveRunnerProcesses,
  ownerOf,
} from '../../../src/runner/ownership.ts'
import { REASONS } from '../../../src/runner/reasons-to-wait.ts'
import { type WaitOptions, waitWhile } from '../../../src/runner/wait-while.ts'
import { useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'

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

describe('the command that a process works for', () => {
  it('is the nearest of those above it that may own a runner', async () => {
    const server = await command('server')
    const daemon = await command('orchestrator', { parentId: server.id })
    const below = await command('cli', { parentId: daemon.id })
    expect((await ownerOf(home, below.id))?.id).toBe(server.id)
    expect((await ownerOf(home, server.id))?.id).toBe(server.id)
    expect(await ownerOf(home, (await command('orchestrator')).id)).toBeUndefined()
  })

  it('is nobody where a hand has made a circle of parents', async () => {
    const one = await command('orchestrator')
    const two = await command('orchestrator', { parentId: one.id })
    await sql`update process set parent_id = ${two.id} where id = ${one.id}`.execute(home.db)
    expect(await ownerOf(home, two.id)).toBeUndefined()
  })
})

describe('the runner', () => {
  it('may be had by the newest of server, add and update', async () => {
    const server = await command('server')
    await command('orchestrator')
    expect(await commandOwnsForegroundRunner(home, server.id)).toBe(true)
    const update = await command('update')
    expect((await foregroundRunnerOwner(home))?.id).toBe(update.id)
    const newer = await command('server')
    expect(await commandOwnsForegroundRunner(home, newer.id)).toBe(true)
    await newer.end()
    await update.end()
    expect(await commandOwnsForegroundRunner(home, server.id)).toBe(true)
  })

  it('is who leads; those at the gate are live too, those who stand by are not counted', async () => {
    await command('orchestrator', { workerType: 'runner_waiting', standby: true })
    const waiting = await command('orchestrator', { workerType: 'runner_waiting' })
    expect((await liveRunnerProcesses(home)).map(({ id }) => id)).toEqual([waiting.id])
    expect(await healthyOrchestrator(home)).toBeUndefined()
    const leader = await command('orchestrator', { workerType: 'worker_runner', term: 1 })
    expect((await healthyOrchestrator(home))?.id).toBe(leader.id)
    await leader.end()
    expect(await healthyOrchestrator(home)).toBeUndefined()
  })
})

describe('waiting', () => {
  const said: string[] = []
  const rethrow = (error: unknown) => {
    throw error
  }
  const options = () => {
    said.length = 0
    const log = new Log('test', ({ text }) => said.push(text))
    return { log, stop: new Stop(), bell: new Bell(), waitsFor: () => {}, away: rethrow }
  }
  const waiting = async (ownerId: string, known: WaitOptions) =>
    await waitWhile(REASONS['for its owner'], { home, me: { id: uuidv7(), seq: 0 }, ownerId }, known)

  it('for its owner lasts until no newer command is left, is said once, and says who was in the way', async () => {
    const older = await command('server')
    const newer = await command('server')
    const over = waiting(older.id, options())
    await eventually(() => said.length === 1)
    expect(said[0]).toBe(
      `server pid ${newer.pid} has the server and runner: standing by; work resumes here when it ends`,
    )
    await newer.end()
    expect(await over).toEqual([])
    expect(said.slice(1)).toEqual([`pid ${newer.pid} is out of the way: resuming`])
  })

  it('does not last for one that has ended since its row was read', async () => {
    const older = await command('server')
    const newer = await command('server')
    const known = options()
    const waits = vi.spyOn(known.bell, 'wait')
    const waitsFor = (why: string | null) => {
      if (why === null) return
      process.kill(newer.pid, 'SIGKILL')
      while (!/\) [ZX] /.test(readFileSync(`/proc/${newer.pid}/stat`, 'utf8'))); // The kernel takes a moment.
    }
    expect(await waiting(older.id, { ...known, waitsFor })).toEqual([])
    expect(said).toHaveLength(2)
    expect(waits).not.toHaveBeenCalled()
  })

  it('is over at once when nobody is in the way, and when we are told to stop', async () => {
    const server = await command('server')
    expect(await waiting(server.id, options())).toEqual([])
    expect(said).toEqual([])
    await command('server')
    const stopping = options()
    const over = waiting(server.id, stopping)
    await eventually(() => said.length === 1)
    stopping.stop.requestDrain()
    expect(await over).toEqual([])
    expect(said).toHaveLength(1)
  })
})
