import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { WorkTree } from '../../../src/hooks/work-tree.ts'
import { requeueClaimsOf, snapshotQueue } from '../../../src/machines/queues.ts'
import { endFormerWorkers } from '../../../src/workers/supervise/reap.ts'
import { failpoints } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { sealedCrawl } from '../../support/observer.ts'
import { holdingPlugin } from '../../support/plugins.ts'
import { isThere } from '../../support/processes.ts'
import { eventually } from '../../support/program.ts'
import { queuedPages } from '../../support/queued.ts'
import { Registry } from '../../support/registry.ts'
import { startSite } from '../../support/site.ts'

const homes = useHomes()
let home: TestHome
let registry: Registry

beforeEach(async () => {
  home = await homes.make()
  registry = await Registry.open(home)
})
afterEach(() => registry.close())

it('a former worker is ended with its hook, and no page beside is to blame; one that works for another data dir of the same database is not', async () => {
  const crawlId = uuidv7()
  const runnerId = registry.ownId
  const workerWithHook = async (dataDirId: string) => {
    const worker = await registry.start('sleep 1000', { processType: 'worker', workerType: 'crawl', runnerId })
    const values = { processType: 'hook', parentId: worker.row.id, runnerId, crawlId } as const
    const hook = await registry.start('sleep 1000', values)
    const below = await registry.announce({ processType: 'worker', parentId: worker.row.id, runnerId })
    const ids = [worker.row.id, hook.row.id, below]
    await home.query('update process set data_dir_id = $1 where id = any($2)', [dataDirId, ids])
    await home.query('update snapshot set claimed_by = $1, claim_token = $1, attempts = 1', [below])
    return [worker.pid, hook.pid]
  }
  await queuedPages(home, ['http://127.0.0.1:9/'])
  const theirs = await workerWithHook(uuidv7())
  const ours = await workerWithHook(registry.home.dataDirId)
  await endFormerWorkers({ home: registry.home, processId: registry.ownId, term: 1 }, crawlId)
  expect(ours.filter(isThere)).toEqual([])
  expect(theirs.filter(isThere)).toEqual(theirs)
  expect(await home.query('select claimed_by, attempts from snapshot')).toEqual([{ claimed_by: null, attempts: 0 }])
})

it('the claim of a page says whose hooks still work on it, what its crawl is, and where the latest other copy lies', async () => {
  const url = 'http://127.0.0.1:9/'
  const [first, second, third] = [
    await queuedPages(home, [url]),
    await queuedPages(home, [url]),
    await queuedPages(home, [url]),
  ]
  const runnerId = registry.ownId
  await registry.announce({ runnerId }) // Which makes the term.
  const owner = { home: registry.home, processId: runnerId, term: 1 }
  const hookOf = async (snapshotId: string, dataDirId = registry.home.dataDirId) => {
    const worker = await registry.announce({ processType: 'worker', parentId: runnerId, runnerId })
    const hook = await registry.announce({ processType: 'hook', parentId: worker, runnerId, snapshotId })
    await home.query('update process set data_dir_id = $1 where id = $2', [dataDirId, hook])
    return { worker, hook }
  }
  for (const { pages } of [first, second])
    await home.query(
      `update snapshot set status = 'sealed', outcome = 'archived', retry_at = null where id = any($1)`,
      [pages],
    )
  await home.query(
    `update snapshot set status = 'sealed', outcome = 'failed', cause = 'x', retry_at = null where id = any($1)`,
    [(await queuedPages(home, [url])).pages],
  )
  const former = await hookOf(third.pages[0]!)
  await hookOf(third.pages[0]!, uuidv7())
  await hookOf(second.pages[0]!)
  const ended = await hookOf(third.pages[0]!)
  await home.query(`update process set status = 'exited', ended_at = now() where id = $1`, [ended.hook])
  await home.query(
    `update crawl set claimed_by = $1, claim_token = $1, max_size = 7, unable = '{"wget": "why"}' where id = $2`,
    [runnerId, third.crawl],
  )
  const [folder] = await home.query<{ output_dir: string }>('select output_dir from snapshot where id = any($1)', [
    second.pages,
  ])
  const claim = await snapshotQueue(owner, runnerId, {}).next()
  expect(claim).toMatchObject({ id: third.pages[0], row: { url } })
  expect(claim?.row.before).toMatchObject({
    crawl: { id: third.crawl, max_size: 7, unable: { wget: 'why' }, config: expect.any(Object) },
    former: [former.worker],
    earlier: folder!.output_dir,
  })
})

it.each(['by the row of its hook', 'by its work tree, where no row was written yet'])(
  'a former worker of a page is ended before the page is begun again: it is found %s',
  async (how) => {
    const site = await startSite(1)
    try {
      await home.run(['add', '--index-only', '--plugins', 'html', `${site.url}/page-1.html`])
      const [page] = await home.query<{ id: string; crawl_id: string; output_dir: string }>(
        'select id, crawl_id, output_dir from snapshot',
      )
      const runner = home.start(['run'])
      await eventually(() => runner.stderr.includes('leading'))
      const runnerId = await home.value<string>(`select id from process where worker_type = 'worker_runner'`)
      const values = { processType: 'worker', workerType: 'snapshot', runnerId } as const
      const worker = await registry.start('sleep 1000', values)
      const isByRow = how === 'by the row of its hook'
      const hook = { processType: 'hook', parentId: worker.row.id, runnerId } as const
      const ofPage = { ...hook, ...(isByRow && { snapshotId: page!.id }) }
      const pids = [worker.pid, (await registry.start('sleep 1000', ofPage)).pid]
      const tree = new WorkTree(join(home.dataDir, page!.output_dir))
      if (!isByRow) {
        await tree.open()
        tree.sign({ processId: worker.row.id, home: registry.home })
      }
      await home.run(['crawl', 'resume', page!.crawl_id])
      await eventually(() => home.value<boolean>(`select status = 'sealed' from snapshot`))
      expect(pids.filter(isThere)).toEqual([])
      runner.signal('SIGTERM')
      expect((await runner.finished()).code).toBe(0)
    } finally {
      await site.close()
    }
  },
)

it('a supervisor that was to hand over, and lives, excuses no worker below it', async () => {
  const { pages } = await queuedPages(home, ['http://127.0.0.1:9/'])
  const { ownId } = registry
  const worker = { processType: 'worker', workerType: 'crawl', parentId: ownId, runnerId: ownId } as const
  const above = (await registry.start('sleep 1000', worker)).row.id
  const below = (await registry.start('sleep 1000', { ...worker, workerType: 'snapshot', parentId: above })).row.id
  await home.query('update process set handoff_requested_by = $1 where id = $2', [ownId, above])
  const attemptsAfter = async (...dead: string[]) => {
    await home.query('update snapshot set claimed_by = $1, claim_token = $1, attempts = 1', [below])
    expect(await requeueClaimsOf(registry.home.db, dead)).toBe(1)
    return await home.value('select attempts from snapshot where id = $1', [pages[0]])
  }
  expect(await attemptsAfter(below)).toBe(1)
  expect(await attemptsAfter(above, below)).toBe(0)
})

it('the pages beside in a former worker keep their attempts when its supervisor is the first to make them due', async () => {
  const held = holdingPlugin(home, 'held')
  const crawl = await home.add('--plugins', 'held', 'http://127.0.0.1:9/1', 'http://127.0.0.1:9/2')
  // Who ends the former worker is slower than its supervisor.
  const env = { ...failpoints(home, 'reap.family_killed=sleep:3000'), MAX_SNAPSHOT_WORKERS: '3' }
  const runner = home.start(['run'], { env })
  const hooks = `
    select hook.snapshot_id, hook.parent_id, worker.pid
    from process hook join process worker on worker.id = hook.parent_id
    where hook.snapshot_id is not null and hook.status = 'running'`
  const inWork = () => home.query<{ snapshot_id: string; parent_id: string; pid: number }>(hooks)
  const [taken, beside] = await eventually(async () => {
    const rows = await inWork()
    return rows.length === 2 ? rows : undefined
  })
  process.kill(taken!.pid, 'SIGSTOP') // It does not notice.
  for (const command of ['pause', 'resume']) await home.run(['snapshot', command, taken!.snapshot_id])
  await eventually(async () =>
    (await inWork()).some((row) => row.snapshot_id === beside!.snapshot_id && row.parent_id !== beside!.parent_id),
  )
  expect(runner.stderr).toMatch(/snapshot worker \d+ died/)
  expect(await home.value('select attempts from snapshot where id = $1', [beside!.snapshot_id])).toBe(1)
  held.letGo()
  await sealedCrawl(home, crawl)
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
})

it('a page that failed as it began leaves no result behind by which its warm host would count as a former worker', async () => {
  const site = await startSite(1)
  try {
    // Then the page is not new to every node, and its first result is begun with it.
    await home.query(`insert into node (id, data_dir, name) values ($1, '/elsewhere', 'elsewhere')`, [uuidv7()])
    const crawl = await home.add('--plugins', 'html', `${site.url}/page-1.html`)
    const runner = home.start(['run'], { env: failpoints(home, 'claim.results_prepared=throw') })
    await runner.says(/snapshot \S+: failpoint claim\.results_prepared/)
    expect(await home.query('select status from archive_result')).toEqual([{ status: 'queued' }])
    expect(await home.query(`select status from process where process_type = 'hook'`)).toEqual([{ status: 'running' }])
    await sealedCrawl(home, crawl)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
  } finally {
    await site.close()
  }
})

it('a page that was taken away and cannot be tidied up does not end the pages beside it', async () => {
  const held = holdingPlugin(home, 'held')
  const crawl = await home.add('--plugins', 'held', 'http://127.0.0.1:9/1', 'http://127.0.0.1:9/2')
  const env = { ...failpoints(home, 'claim.lost_results_forgotten=throw'), MAX_SNAPSHOT_WORKERS: '2' }
  const runner = home.start(['run'], { env })
  const hooks = `select snapshot_id, parent_id from process where snapshot_id is not null and status = 'running'`
  const [one, other] = await eventually(async () => {
    const rows = await home.query<{ snapshot_id: string; parent_id: string }>(hooks)
    return rows.length === 2 ? rows : undefined
  })
  expect(one!.parent_id).toBe(other!.parent_id)
  await home.run(['snapshot', 'pause', one!.snapshot_id])
  await runner.says(/snapshot \S+: its next owner tidies up: failpoint/)
  await home.run(['snapshot', 'resume', one!.snapshot_id])
  held.letGo()
  await sealedCrawl(home, crawl)
  expect(runner.stderr).not.toMatch(/died/)
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
})
