import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rowByPid, startedBy } from '../../../src/processes/presence.ts'
import { poll, signalRow, terminate, waitForEnd } from '../../../src/processes/registry/end.ts'
import { ancestorsOf, childrenOf, descendantsOf, parentOf, rootOf } from '../../../src/processes/registry/relatives.ts'
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

const rowsOf = (ids: readonly { id: string }[]) => ids.map(({ id }) => id)

describe('relatives', () => {
  it('are found by who started whom: parent, root, children, and all below, level by level', async () => {
    const runner = await registry.announce({ processType: 'orchestrator', workerType: 'runner_waiting' })
    const worker = await registry.announce({
      processType: 'worker',
      workerType: 'crawl',
      parentId: runner,
      runnerId: runner,
    })
    const hooks = [await registry.announce({ parentId: worker }), await registry.announce({ parentId: worker })]
    const hook = await registry.again({ id: hooks[0]! })
    expect((await parentOf(registry.home, hook))?.id).toBe(worker)
    expect(rowsOf(await ancestorsOf(registry.home, hook))).toEqual([worker, runner])
    expect((await rootOf(registry.home, hook)).id).toBe(runner)
    expect((await rootOf(registry.home, await registry.again({ id: runner }))).id).toBe(runner)
    expect(rowsOf(await childrenOf(registry.home, worker))).toEqual(hooks)
    expect(rowsOf(await descendantsOf(registry.home, runner))).toEqual([worker, ...hooks])
  })

  it('of a row that was edited into a circle are found once', async () => {
    const first = await registry.announce()
    const second = await registry.announce({ parentId: first })
    await home.query('update process set parent_id = $2 where id = $1', [first, second])
    expect(rowsOf(await ancestorsOf(registry.home, await registry.again({ id: first })))).toEqual([second])
    expect(rowsOf(await descendantsOf(registry.home, first))).toEqual([second])
  })
})

describe('the row', () => {
  it('of a command that one of ours started names that one as its parent', async () => {
    const { row } = await registry.start('sleep 1000')
    const { code } = await home.run(['init'], { env: { ARCHIVEBOX_PROCESS_ID: row.id } })
    expect(code).toBe(0)
    expect(await home.value("select parent_id from process where process_type = 'cli' order by seq desc limit 1")).toBe(
      row.id,
    )
    expect(await startedBy(registry.home)).toBeNull()
  })

  it('of a pid is that of the process that has it now, else of the last that had it', async () => {
    const { row, pid } = await registry.start('sleep 1000')
    const later = await registry.announce()
    await home.query(
      "update process set status = 'lost', started_at = now(), ended_at = now(), pid = $2, start_ticks = 1, " +
        "boot_id = 'b', pid_namespace = 'n' where id = $1",
      [later, pid],
    )
    expect((await rowByPid(registry.home, pid))?.id).toBe(row.id)
    await terminate(registry.home, row)
    expect((await rowByPid(registry.home, pid))?.id).toBe(later)
  })
})

describe('the end of a process', () => {
  it('is what its parent’s wait reported', async () => {
    const { row } = await registry.start('sleep 0.2; exit 7')
    expect(await waitForEnd(registry.home, row, 60_000)).toEqual({ code: 7, signal: null, closed: true })
  })

  it('that nobody saw has no exit code: the row is lost, never a success', async () => {
    const { row } = await registry.start('sleep 0.2', {}, false)
    expect(await waitForEnd(registry.home, row, 60_000)).toEqual({ code: null, signal: null, closed: true })
    expect(await registry.again(row)).toMatchObject({ status: 'lost', exit_code: null, exit_signal: null })
  })

  it('is not there while it runs, and waiting for it ends when its time is over', async () => {
    const { row, pid } = await registry.start('sleep 1000')
    expect(await poll(registry.home, row)).toBeNull()
    expect(await waitForEnd(registry.home, row, 100)).toBeNull()
    expect(isThere(pid)).toBe(true)
    expect(await registry.again(row)).toMatchObject({ status: 'running' })
  })

  it('is left to a supervisor that lives, which alone knows the exit code', async () => {
    const { row: supervisor } = await registry.start('sleep 1000')
    const { row } = await registry.start('sleep 0.2; exit 3', { parentId: supervisor.id }, false)
    await eventually(async () => (await poll(registry.home, row))?.closed === false)
    expect(await registry.again(row)).toMatchObject({ status: 'running' })
    await terminate(registry.home, supervisor)
    await eventually(async () => (await poll(registry.home, row))?.closed === true)
    expect(await registry.again(row)).toMatchObject({ status: 'lost', exit_code: null })
  })

  it('by a signal says so; sending it alone closes nothing', async () => {
    const { row, pid } = await registry.start('trap "" TERM; sleep 1000; sleep 1000')
    await eventually(() => processesOf(home.dataDir).some(({ ppid }) => ppid === pid))
    expect(await signalRow(row, 'SIGTERM')).toBe(true)
    expect(await registry.again(row)).toMatchObject({ status: 'running' })
    expect(await terminate(registry.home, row, 200)).toMatchObject({ code: null, signal: 'SIGKILL' })
    expect(isThere(pid)).toBe(false)
    expect(await signalRow(row, 'SIGTERM')).toBe(false)
  })

  it('of a stopped process comes, too', async () => {
    const { row, pid } = await registry.start('sleep 1000')
    process.kill(pid, 'SIGSTOP')
    expect(await terminate(registry.home, row)).toMatchObject({ signal: 'SIGTERM' })
  })

  it('of a tree takes all below it along, whatever they did to leave it', async () => {
    const script = 'trap "" TERM; (setsid sleep 1001 &) ; setsid bash -c "sleep 1002 & sleep 1003" & sleep 1004'
    const { row } = await registry.start(script)
    const sleepers = () => processesOf(home.dataDir).filter(({ command }) => /^sleep 100[1-4]/.test(command))
    await eventually(() => sleepers().length === 4)
    await terminate(registry.home, row, 200)
    expect(sleepers()).toEqual([])
    await eventually(async () => (await registry.again(row)).ended_at !== null)
  })
})
