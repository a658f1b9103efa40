// What the worker makes of a warm host that stands still, and of a row whose hooks end late.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { queryObjects } from 'node:v8'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { dataDirId } from '../../../src/base/data-dir-id.ts'
import { RowLog } from '../../../src/base/row-log.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import type { Home } from '../../../src/db/home.ts'
import { insertStarting } from '../../../src/db/processes.ts'
import type { HostedRun } from '../../../src/hooks/hosted-ends.ts'
import type { HookScope } from '../../../src/hooks/launch.ts'
import { WarmProcess } from '../../../src/hooks/warm-process.ts'
import { killFamily } from '../../../src/processes/family.ts'
import { currentMachine } from '../../../src/processes/machine.ts'
import { bootId } from '../../../src/processes/proc.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { pidsOf } from '../../support/observer.ts'

vi.mock('../../../src/processes/family.ts', { spy: true })

const homes = useHomes()
/** Begins, and never ends. */
const ENDLESS = `import { writeFileSync } from 'node:fs'
export default { run: async ({ outputDir }) => {
  writeFileSync(outputDir + '/begun', '')
  return await new Promise(() => setInterval(() => {}, 1_000))
} }`

const QUICK = "export default { run: async () => ({ status: 'succeeded', output: '' }) }"

let test: TestHome
let db: Database
let scope: HookScope
let host: WarmProcess
let force: AbortController

beforeEach(async () => {
  force = new AbortController()
  test = await homes.make()
  db = openDatabase(test.databaseUrl, { name: 'the test', connections: 2 })
  const { dataDir, databaseUrl } = test
  const machineId = (await currentMachine(db)).id
  const home: Home = {
    db,
    databaseUrl,
    embedded: true,
    machineId,
    dataDir,
    dataDirId: await dataDirId(dataDir, () => {}),
  }
  const about = { processType: 'worker', workerType: 'snapshot', parentId: null, runnerId: null } as const
  const { id } = await insertStarting(home, { ...about, pwd: '/', cmd: [] })
  await test.query('insert into runner_term values ($1, 1, $2)', [home.dataDirId, id])
  scope = {
    home,
    parentId: id,
    runnerId: id,
    containment: { tier: 'basic', deathSignal: false },
    settings: {},
    target: { dataDir, crawlId: id, crawlDir: dataDir, depth: 0, url: 'https://example.com/' },
  }
  writeFileSync(join(dataDir, 'endless.mjs'), ENDLESS)
  host = await WarmProcess.start(scope, dataDir, join(dataDir, 'host.log'))
  return async () => await db.destroy()
})
afterEach(async () => {
  vi.useRealTimers()
  await host.kill()
  // None of it has a history that keeps what is promised of one.
  await test.query('truncate process, transition, runner_term cascade')
})

function endless(plugin: string, timeoutMs: number, file = 'endless.mjs'): HostedRun {
  const outputDir = join(test.dataDir, plugin)
  mkdirSync(outputDir)
  const path = join(test.dataDir, file)
  const kind = { isNamed: false, background: false, hosted: true, readsPublished: false, mustReport: false, graceMs: 0 }
  const about = {
    ...kind,
    awaitsBackground: false,
    needsFile: false,
    tree: '',
    around: '{}',
    prefix: undefined,
    requires: [],
    binaries: [],
    declares: [],
    asksOnly: false,
    file: false,
  }
  const logs = { stdout: join(test.dataDir, 'logs', plugin), stderr: join(test.dataDir, 'logs', `${plugin}.err`) }
  return {
    hook: { ...about, plugin, name: plugin, path, timeoutMs },
    attempt: 1,
    outputDir,
    isMoved: true,
    isAhead: false,
    logs,
  }
}

/** As the host says that a hook has ended. */
function end({ hook }: HostedRun): void {
  const log = new RowLog(rowLog(), [], bootId())
  log.append(`${hook.plugin}.${hook.name}.1`, [{}])
  log.close()
}

const rowLog = () => join(test.dataDir, 'logs', 'hosted.txt')

/** Begins the row, and stops the host in its first hook. */
async function begin(row: readonly HostedRun[]) {
  const ends = host.run({ scope, log: rowLog(), runs: row }, force.signal, new AbortController().signal)
  const first = ends.next()
  // Not `eventually`, which goes by a clock that may stand still.
  let pid: number | undefined
  while (pid === undefined) {
    await delay(10)
    if (existsSync(join(row[0]!.outputDir, 'begun'))) [pid] = await pidsOf(test, 'host')
  }
  process.kill(pid, 'SIGSTOP')
  return { ends, first }
}

describe('a row of hooks', () => {
  it('whose first ends at the last moment: the next one is not called late', async () => {
    const row = [endless('first', 5_490), endless('next', 60_000)]
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { ends, first } = await begin(row)
    // It is looked at every second: last of all from 6 s to 6.49 s.
    await vi.advanceTimersByTimeAsync(6_000)
    end(row[0]!)
    await vi.advanceTimersByTimeAsync(490)
    expect((await first).value).toMatchObject([{ hook: { plugin: 'first' }, cause: 'exit', exit: { code: 0 } }])
    vi.useRealTimers()
    expect(host.usable).toBe(true)
    await ends.return(undefined)
    expect(host.usable, 'the next one would get the answer to this job').toBe(false)
  })

  it('that is given up when its last hook has ended, and the host does not say so: it runs nothing more', async () => {
    const row = [endless('only', 60_000)]
    const { ends, first } = await begin(row)
    end(row[0]!)
    expect((await first).value).toHaveLength(1)
    const last = ends.next()
    force.abort()
    expect((await last).done).toBe(true)
    expect(host.usable, 'the next page would get the answer to this one').toBe(false)
  })

  it('that is given up while its host cannot be killed: the host takes no further one', async () => {
    const { first } = await begin([endless('only', 60_000)])
    vi.mocked(killFamily).mockRejectedValueOnce(new Error('EMFILE: too many open files'))
    force.abort()
    await expect(first).rejects.toThrow('EMFILE')
    expect(host.usable, 'the next page would get the answer to this one').toBe(false)
    expect(host.isLeft, 'whoever gives the page back has to end it').toBe(true)
    await host.kill()
    expect(host.isLeft).toBe(false)
  })

  it('whose hook is killed at its deadline: what it said is not lost', async () => {
    writeFileSync(
      join(test.dataDir, 'talks.mjs'),
      "export default { run: ({ log }) => new Promise(() => (log('one'), log('two'), setInterval(() => {}, 1_000))) }",
    )
    const row = [endless('talks', 4_000, 'talks.mjs')] // A busy machine takes a second until it has talked.
    for await (const [end] of host.run({ scope, log: rowLog(), runs: row }, force.signal, new AbortController().signal))
      expect(end).toMatchObject({ cause: 'timeout', exit: { signal: 'SIGKILL' }, said: 'one\ntwo\n' })
  })

  it('keeps nothing of it in the worker once it is over, though the host lives on', async () => {
    writeFileSync(join(test.dataDir, 'quick.mjs'), QUICK)
    const row = [endless('quick', 60_000, 'quick.mjs')]
    const jobs = async (count: number) => {
      for (let job = 0; job < count; job += 1)
        for await (const [end] of host.run(
          { scope, log: rowLog(), runs: row },
          force.signal,
          new AbortController().signal,
        ))
          expect(end).toMatchObject({ cause: 'exit', exit: { code: 0 } })
      return queryObjects(Promise, { format: 'count' })
    }
    const before = await jobs(10)
    expect((await jobs(50)) - before).toBeLessThan(50)
  })

  it('comes to a fresh host after some hundred others, since what a host cannot give back grows', async () => {
    writeFileSync(join(test.dataDir, 'quick.mjs'), QUICK)
    const row = [endless('quick', 60_000, 'quick.mjs')]
    let jobs = 0
    for (; host.usable && jobs < 2_000; jobs += 1)
      for await (const [end] of host.run(
        { scope, log: rowLog(), runs: row },
        force.signal,
        new AbortController().signal,
      ))
        expect(end).toMatchObject({ cause: 'exit', exit: { code: 0 } })
    expect(jobs).toBeGreaterThan(100)
    expect(jobs).toBeLessThan(2_000)
  })
})
