// A process that nobody can end (a disk or a mount that does not answer) delays what it belongs to, and nothing else.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { Log } from '../../../src/base/log.ts'
import { CannotEnd } from '../../../src/processes/cannot-end.ts'
import { Reconciler } from '../../../src/workers/repair/reconciler.ts'
import { endWorkers, HeldUp, reapRunner, reapWorker } from '../../../src/workers/supervise/reap.ts'
import type { WorkerContext } from '../../../src/workers/supervise/worker-context.ts'
import { noFreezer, whileFrozen } from '../../support/frozen.ts'
import { useHomes } from '../../support/homes.ts'
import { perTest } from '../../support/per-test.ts'
import { plugin } from '../../support/plugins.ts'
import { isThere } from '../../support/processes.ts'
import { eventually } from '../../support/program.ts'
import { queuedPages } from '../../support/queued.ts'
import { Registry } from '../../support/registry.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()

describe.skipIf(noFreezer)(`among the rows of what is gone ${noFreezer || ''}`, { concurrent: true }, () => {
  const here = perTest(
    async () => {
      const home = await homes.make()
      return { home, registry: await Registry.open(home) }
    },
    ({ registry }) => registry.close(),
  )

  /** A worker below a runner that is gone, with a hook. */
  async function worker(runnerId: string, snapshotId: string | null) {
    const { registry } = here()
    const below = { runnerId, processType: 'worker', workerType: 'snapshot', parentId: runnerId } as const
    const { row, pid } = await registry.start('sleep 1000', below, false)
    const values = { runnerId, processType: 'hook', parentId: row.id, snapshotId } as const
    const hook = await registry.start('sleep 1000', values, false)
    return { row, pid, hook }
  }

  async function goneRunner(): Promise<string> {
    const runner = await here().registry.start(
      'exit',
      { processType: 'orchestrator', workerType: 'runner_waiting' },
      false,
    )
    await eventually(() => !isThere(runner.pid))
    return runner.row.id
  }

  it('one of them keeps no other from being closed, is named once, and is closed when it is over', async () => {
    const { home, registry } = here()
    const { pages } = await queuedPages(home, ['http://127.0.0.1:9/a', 'http://127.0.0.1:9/b'])
    const runnerId = await goneRunner()
    const stuck = await worker(runnerId, pages[0]!)
    const other = await worker(runnerId, pages[1]!)
    const claim = 'update snapshot set claimed_by = $1, claim_token = $1, attempts = 1 where id = $2'
    await home.query(claim, [stuck.row.id, pages[0]])
    await home.query(claim, [other.row.id, pages[1]])
    await whileFrozen(stuck.hook.pid, async (thaw) => {
      const said: string[] = []
      const log = new Log('test', ({ text }) => void said.push(text))
      const owner = { home: registry.home, processId: uuidv7(), term: 1 }
      const cleaning = new Reconciler({ owner, log } as unknown as WorkerContext)
      for (let round = 0; round < 3; round += 1) await cleaning.round()
      for (const id of [runnerId, stuck.row.id, other.row.id, other.hook.row.id])
        expect(await registry.again({ id })).toMatchObject({ status: 'lost', blocked_reason: null })
      const why = new RegExp(`^since \\S+Z: cannot end pid ${stuck.hook.pid} \\(sleep\\): .*uninterruptible sleep`)
      expect(await registry.again(stuck.hook.row)).toMatchObject({
        status: 'running',
        blocked_reason: expect.stringMatching(why),
      })
      expect(said.filter((text) => text.includes('cannot end'))).toHaveLength(1)
      expect(await home.query('select distinct claimed_by from snapshot')).toEqual([{ claimed_by: null }])
      // Whoever begins the page again hears of it; it is not to blame.
      await expect(endWorkers(owner, [stuck.row.id])).rejects.toThrow(HeldUp)
      await expect(endWorkers(owner, [other.row.id])).resolves.toBeUndefined()
      await thaw()
      await eventually(() => !isThere(stuck.hook.pid))
      for (let round = 0; round < 2; round += 1) await cleaning.round()
      expect(await registry.again(stuck.hook.row)).toMatchObject({ status: 'lost' })
      await expect(endWorkers(owner, [stuck.row.id])).resolves.toBeUndefined()
    })
  })

  it('a worker of several claims loses those that no stuck process has, and no attempt counts', async () => {
    const { home, registry } = here()
    const { pages } = await queuedPages(home, ['http://127.0.0.1:9/a'])
    const runnerId = await goneRunner()
    const below = { runnerId, processType: 'worker', workerType: 'crawl', parentId: runnerId } as const
    const crawlWorker = await registry.start('sleep 1000', below, false)
    const { row, hook } = await worker(runnerId, null)
    await home.query('update process set parent_id = $1 where id = $2', [crawlWorker.row.id, row.id])
    await home.query('update snapshot set claimed_by = $1, claim_token = $1, attempts = 1 where id = $2', [
      crawlWorker.row.id,
      pages[0],
    ])
    await whileFrozen(hook.pid, async () => {
      await expect(reapWorker(registry.home, crawlWorker.row.id, null)).rejects.toThrow(CannotEnd)
      for (const each of [crawlWorker.row, row]) expect(await registry.again(each)).toMatchObject({ status: 'lost' })
      expect(await registry.again(hook.row)).toMatchObject({ status: 'running' })
      expect(await home.query('select claimed_by, attempts from snapshot')).toEqual([{ claimed_by: null, attempts: 0 }])
      // A claim is not due again while what works on it is there, although no live row names it.
      await home.query('update snapshot set claimed_by = $1, claim_token = $1', [row.id])
      await home.query("update process set status = 'lost', ended_at = now() where id = $1", [hook.row.id])
      await expect(reapWorker(registry.home, row.id, null)).rejects.toThrow(CannotEnd)
      expect(await home.query('select claimed_by from snapshot')).toEqual([{ claimed_by: row.id }])
      expect((await reapRunner(registry.home, runnerId))?.message).toContain(`cannot end pid ${hook.pid} (sleep)`)
    })
  })
})

describe.skipIf(noFreezer)(`in a run ${noFreezer || ''}`, { concurrent: true }, () => {
  let site: Site
  beforeAll(async () => {
    site = await startSite(2)
  })
  afterAll(() => site.close())

  it('a runner leads although a hook of the one before cannot be ended, and archives all but its page; status and doctor name it', async () => {
    const home = await homes.make()
    plugin(home, 'held', 'exec sleep 1000')
    await home.add('--plugins', 'held', `${site.url}/page-1.html`)
    const first = home.start(['run'])
    const hookPid = () =>
      home.value<number | undefined>(
        `select pid::int from process where cmd::text like '%held%' and pid is not null and url is not null`,
      )
    await eventually(async () => (await hookPid()) !== undefined)
    const pid = (await hookPid())!
    // Its row may be there while it still is the shell that becomes it.
    await eventually(() => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'sleep\n')
    await whileFrozen(pid, async (thaw) => {
      first.signal('SIGKILL')
      await first.finished()
      const other = await home.add('--plugins', 'headers', `${site.url}/page-2.html`)
      const second = home.start(['run'])
      await second.says(/leading/)
      const statusOf = (crawl: string) =>
        home.value<string>('select status::text from snapshot where crawl_id = $1', [crawl])
      await eventually(async () => (await statusOf(other)) === 'sealed', 60_000)
      expect(isThere(pid)).toBe(true)
      const status = await home.run(['status'])
      expect(status.stdout.replace(/\s+/g, ' ')).toContain(`cannot end pid ${pid} (sleep)`)
      expect(JSON.parse((await home.run(['status', '--json'])).stdout)).toMatchObject({ stuck: [{ pid }] })
      const doctor = await home.run(['doctor'])
      expect(doctor.stdout.replace(/\s+/g, ' ')).toMatch(new RegExp(`"processes".*cannot end pid ${pid} \\(sleep\\)`))
      plugin(home, 'held', 'echo let go >done.txt')
      await thaw()
      await eventually(
        async () => (await home.value<number>(`select count(*)::int from snapshot where status <> 'sealed'`)) === 0,
        120_000,
      )
      second.signal('SIGTERM')
      expect((await second.finished()).code).toBe(0)
    })
  })

  it('a worker that cannot be ended does not keep its runner from leaving', async () => {
    const home = await homes.make()
    plugin(home, 'held', 'exec sleep 1000')
    await home.add('--plugins', 'held', `${site.url}/page-1.html`)
    const runner = home.start(['run'])
    await eventually(() => home.value(`select true from process where url is not null and status = 'running'`))
    const pid = await home.value<number>(`select pid::int from process where worker_type = 'crawl'`)
    await whileFrozen(pid, async () => {
      runner.signal('SIGTERM')
      await runner.says(/SIGTERM: draining/)
      await eventually(() => runner.stderr.includes('worker to end'), 20_000)
      runner.signal('SIGTERM')
      const { code, stderr } = await runner.finished()
      expect(code, stderr).toBe(130)
      expect(stderr.match(/killing it/g) ?? []).toHaveLength(stderr.includes('killing it') ? 1 : 0)
      expect(isThere(pid)).toBe(true)
    })
    await eventually(() => !isThere(pid))
    await home.run(['run', '--maintenance-only'])
  })
})
