import { afterEach, beforeEach, expect, it } from 'vitest'
import { uuidv7 } from '../../src/base/ids.ts'
import { endFormerWorkers } from '../../src/workers/reap.ts'
import { type TestHome, useHomes } from '../support/homes.ts'
import { isThere } from '../support/processes.ts'
import { queuedPages } from '../support/queued.ts'
import { Registry } from '../support/registry.ts'

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
    const ids = [worker.row.id, hook.row.id]
    await home.query('update process set data_dir_id = $1 where id = any($2)', [dataDirId, ids])
    await home.query('update snapshot set claimed_by = $1, claim_token = $1, attempts = 1', [worker.row.id])
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
