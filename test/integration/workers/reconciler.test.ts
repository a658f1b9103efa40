import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { Log } from '../../../src/base/log.ts'
import { enterCgroup, findCgroup, pidsIn, removeCgroup } from '../../../src/processes/containment/cgroup.ts'
import { killFamily, membersOf } from '../../../src/processes/family.ts'
import { familyOfRows } from '../../../src/processes/family-of-rows.ts'
import { ownIdentity } from '../../../src/processes/identity.ts'
import { readProc } from '../../../src/processes/proc.ts'
import { signalRow, terminate } from '../../../src/processes/registry/end.ts'
import { Reconciler } from '../../../src/workers/repair/reconciler.ts'
import type { WorkerContext } from '../../../src/workers/supervise/worker-context.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { isThere, processesOf } from '../../support/processes.ts'
import { eventually } from '../../support/program.ts'
import { Registry } from '../../support/registry.ts'

const homes = useHomes()
let home: TestHome
let registry: Registry

beforeEach(async () => {
  home = await homes.make()
  registry = await Registry.open(home)
})
afterEach(() => registry.close())

describe('the reconciler of a leader', () => {
  const said: string[] = []
  const cleanUp = (processId = uuidv7()) =>
    new Reconciler({
      owner: { home: registry.home, processId, term: 1 },
      log: new Log('test', ({ text }) => void said.push(text)),
    } as unknown as WorkerContext)

  it('closes the row of a process that is gone, without an exit code', async () => {
    const { row, pid } = await registry.start('sleep 0.2', {}, false)
    await eventually(() => !isThere(pid))
    await cleanUp().round()
    expect(await registry.again(row)).toMatchObject({ status: 'lost', exit_code: null })
  })

  it('never takes age for death: neither a day nor a timeout that is over', async () => {
    const { row } = await registry.start('sleep 1000', { timeout: 1 })
    await home.query(
      "update process set created_at = now() - interval '2 days', started_at = now() - interval '2 days' where id = $1",
      [row.id],
    )
    const cleaning = cleanUp()
    for (let round = 0; round < 3; round += 1) await cleaning.round()
    expect(await registry.again(row)).toMatchObject({ status: 'running' })
  })

  it('leaves what a living supervisor has to report to it, for one round', async () => {
    const { row: supervisor } = await registry.start('sleep 1000')
    const { row, pid } = await registry.start('sleep 0.2', { parentId: supervisor.id }, false)
    await eventually(() => !isThere(pid))
    const cleaning = cleanUp()
    await cleaning.round()
    expect(await registry.again(row)).toMatchObject({ status: 'running' })
    await cleaning.round()
    expect(await registry.again(row)).toMatchObject({ status: 'lost' })
  })

  it('leaves a row whose process is about to be started to its supervisor, for ever', async () => {
    const { row: supervisor } = await registry.start('sleep 1000')
    const starting = await registry.announce({ parentId: supervisor.id })
    const cleaning = cleanUp()
    for (let round = 0; round < 3; round += 1) await cleaning.round()
    expect(await registry.again({ id: starting })).toMatchObject({ status: 'starting' })
    await terminate(registry.home, supervisor)
    await cleaning.round()
    expect(await registry.again({ id: starting })).toMatchObject({ status: 'lost' })
  })

  it('kills the workers and hooks of a runner that is gone, and only then closes their rows', async () => {
    const runner = await registry.start(
      'sleep 0.2',
      { processType: 'orchestrator', workerType: 'runner_waiting' },
      false,
    )
    const below = { runnerId: runner.row.id, parentId: runner.row.id }
    const orphan = await registry.start(
      'trap "" TERM; while :; do sleep 0.1; done',
      { ...below, processType: 'worker', workerType: 'crawl' },
      false,
    )
    await eventually(() => !isThere(runner.pid))
    await cleanUp().round()
    expect(isThere(orphan.pid)).toBe(false)
    for (const row of [runner.row, orphan.row])
      expect(await registry.again(row)).toMatchObject({ status: 'lost', exit_code: null })
  })

  it('ends what carries its runner’s mark and belongs to no live row and no live worker, when it is still so a round later', async () => {
    const leader = await registry.start('sleep 1000', { processType: 'orchestrator', workerType: 'runner_waiting' })
    const below = { runnerId: leader.row.id, parentId: leader.row.id }
    const worker = await registry.start('sleep 1000', { ...below, processType: 'worker', workerType: 'crawl' })
    const nobodys = await registry.start('trap "" TERM; setsid sleep 1001 & sleep 1002', {
      ...below,
      processType: 'worker',
      workerType: 'snapshot',
    })
    const hook = { runnerId: leader.row.id, processType: 'hook' as const }
    const ofNobodys = await registry.start('sleep 1003', { ...hook, parentId: nobodys.row.id })
    const ofWorker = await registry.start('sleep 1004', { ...hook, parentId: worker.row.id })
    for (const { row } of [ofNobodys, ofWorker, nobodys])
      await home.query('delete from process where id = $1', [row.id])
    const cleaning = cleanUp(leader.row.id)
    await cleaning.round()
    for (const { pid } of [nobodys, ofNobodys, ofWorker]) expect(isThere(pid)).toBe(true)
    await cleaning.round()
    expect(
      processesOf(home.dataDir)
        .map(({ command }) => command)
        .filter((command) => /^sleep 100[1-3]/.test(command)),
    ).toEqual([])
    for (const { pid } of [leader, worker, ofWorker]) expect(isThere(pid)).toBe(true)
  })

  it('takes the empty control group of a worker that has ended for nobody', async (context) => {
    const leaderId = uuidv7()
    const cgroup = await findCgroup(leaderId)
    if ('missing' in cgroup) return context.skip(cgroup.missing)
    const leader = await registry.start('sleep 1000', { processType: 'orchestrator', workerType: 'runner_waiting' })
    const path = join(dirname(cgroup.path), leader.row.id)
    await home.query('update process set cgroup = $2 where id = $1', [leader.row.id, path])
    const [ended, busy] = [uuidv7(), uuidv7()].map((worker) => join(path, worker, uuidv7())) as [string, string]
    for (const group of [ended, busy]) mkdirSync(group, { recursive: true })
    const [program, ...args] = enterCgroup(busy, ['sleep', '1005'])
    const left = spawn(program!, args, { stdio: 'ignore' })
    try {
      await eventually(() => pidsIn(busy).length > 0)
      const cleaning = cleanUp(leader.row.id)
      said.length = 0
      for (let round = 0; round < 2; round += 1) await cleaning.round()
      expect(said).toEqual([expect.stringContaining(`ending processes of ${basename(dirname(busy))}`)])
      expect(pidsIn(busy)).toEqual([])
    } finally {
      left.kill('SIGKILL')
      await eventually(() => removeCgroup(path))
    }
  })

  it('leaves its own and other living ones alone', async () => {
    const leader = await registry.start('sleep 1000', { processType: 'orchestrator', workerType: 'runner_waiting' })
    const worker = await registry.start('sleep 1000', {
      processType: 'worker',
      workerType: 'crawl',
      runnerId: leader.row.id,
      parentId: leader.row.id,
    })
    const cleaning = cleanUp(leader.row.id)
    for (let round = 0; round < 3; round += 1) await cleaning.round()
    for (const row of [leader.row, worker.row]) expect(await registry.again(row)).toMatchObject({ status: 'running' })
  })
})

describe('a row edited by hand', () => {
  let innocent: ChildProcess
  beforeEach(() => {
    innocent = spawn('sleep', ['1000'], { stdio: 'ignore', detached: true })
  })
  afterEach(async () => {
    const ended = once(innocent, 'exit')
    innocent.kill('SIGKILL')
    await ended
  })

  const cases: [string, (pid: number, ticks: number) => Record<string, unknown>][] = [
    ['names the pid of somebody else with other start ticks', (pid, ticks) => ({ pid, start_ticks: ticks - 1 })],
    [
      'names the pid of somebody else of another boot',
      (pid, ticks) => ({ pid, start_ticks: ticks, boot_id: 'another' }),
    ],
    [
      'names the pid of somebody else in another namespace',
      (pid, ticks) => ({ pid, start_ticks: ticks, pid_namespace: 'pid:[1]' }),
    ],
    ['names the init process', () => ({ pid: 1 })],
    ['names a group', (pid) => ({ pid: -pid })],
    ['names everybody', () => ({ pid: -1 })],
    ['names our own group', () => ({ pid: 0 })],
    ['has no start ticks', (pid) => ({ pid, start_ticks: null })],
    ['has no boot', (pid, ticks) => ({ pid, start_ticks: ticks, boot_id: null })],
  ]

  it.each(cases)('so that it %s has nobody signalled', async (_what, edit) => {
    const pid = innocent.pid!
    const { row, pid: former } = await registry.start('sleep 0.1', {}, false)
    await eventually(() => !isThere(former))
    const own = await ownIdentity()
    const edited = edit(pid, readProc(pid)!.startTicks)
    const ticks = edited['pid'] === pid ? undefined : (readProc(edited['pid'] as number)?.startTicks ?? 1)
    const values = { boot_id: own.bootId, pid_namespace: own.pidNamespace, start_ticks: ticks, ...edited }
    for (const [column, value] of Object.entries(values))
      await home.query(`update process set ${column} = $2 where id = $1`, [row.id, value])
    const now = await registry.again(row)

    expect(await membersOf({ ...familyOfRows([now]), sessions: true })).toEqual([])
    expect(await killFamily(familyOfRows([now]))).toEqual([])
    expect(await signalRow(now, 'SIGKILL')).toBe(false)
    await terminate(registry.home, now, 50)
    await home.run(['process', 'kill', row.id, '--force'])
    const runner = await home.run(['run', '--exit-on-idle'])
    expect(runner.code, runner.stderr).toBe(0)
    expect(isThere(pid)).toBe(true)
    await home.query("update process set status = 'lost', ended_at = now() where ended_at is null")
  })

  it('so that it names ourselves does not have us end ourselves', async () => {
    const own = await registry.again({ id: registry.ownId })
    expect(await membersOf(familyOfRows([own]))).toEqual([])
    expect(await signalRow(own, 'SIGKILL')).toBe(false)
    expect(await killFamily(familyOfRows([own]))).toEqual([])
  })

  it('so that it names a control group of others has nobody killed in there', async () => {
    const { row } = await registry.start('sleep 0.2', {}, false)
    for (const cgroup of [
      '/sys/fs/cgroup',
      '/sys/fs/cgroup/unified',
      `/sys/fs/cgroup/../../${row.id}`,
      `/tmp/archivebox-ts/${row.id}`,
    ]) {
      await home.query('update process set cgroup = $2 where id = $1', [row.id, cgroup])
      expect(familyOfRows([await registry.again(row)]).cgroups).toEqual([])
    }
    await home.query("update process set status = 'lost', ended_at = now() where id = $1", [row.id])
  })
})
