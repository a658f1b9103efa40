import { expect, it } from 'vitest'
import { uuidv7 } from '../../src/base/ids.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import type { SnapshotClaim } from '../../src/machines/queues.ts'
import { type ResultChange, writeResults } from '../../src/machines/results.ts'
import { useHomes } from '../support/homes.ts'
import { queuedPages } from '../support/queued.ts'

const homes = useHomes()

/** The same database, whose connection is lost once before a statement reaches it. */
function lostOnce(db: Database): Database {
  let isLost = false
  return new Proxy(db, {
    get(of, name) {
      if (name === 'getExecutor' && !isLost) {
        isLost = true
        throw Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' })
      }
      const value: unknown = Reflect.get(of, name, of)
      return typeof value === 'function' ? value.bind(of) : value
    },
  })
}

it('results whose first write never arrived are written by the second one', async () => {
  const home = await homes.make()
  const { pages } = await queuedPages(home, ['http://127.0.0.1:9/'])
  const [token, dataDirId, processId] = [uuidv7(), uuidv7(), uuidv7()]
  await home.query("update snapshot set status = 'started', claim_token = $1, claimed_by = $2", [token, processId])
  await home.query('insert into runner_term (data_dir_id, term, process_id) values ($1, 1, $2)', [dataDirId, processId])
  const db = openDatabase(home.databaseUrl, { name: 'the test' })
  try {
    const { dataDir, databaseUrl } = home
    const owner = { home: { db: lostOnce(db), databaseUrl, machineId: '', dataDir, dataDirId }, processId, term: 1 }
    const rows = await home.query<{ id: string; plugin: string }>(
      `insert into archive_result (id, snapshot_id, plugin, hook_name, status)
       select gen_random_uuid(), $1, name, name, 'started' from unnest('{a,b,c,d}'::text[]) name
       returning id, plugin`,
      [pages[0]],
    )
    const events = ['succeed', 'empty', 'skip', 'fail'] as const
    const changes = rows.map((result, at): ResultChange => ({ result, event: events[at]! }))
    await writeResults(owner as never, { id: pages[0], token } as SnapshotClaim, changes)
    const written = await home.query('select status from archive_result order by plugin')
    expect(written.map((row) => row['status'])).toEqual(['succeeded', 'noresults', 'skipped', 'failed'])
  } finally {
    await db.destroy()
  }
  await home.query('delete from snapshot') // It has nothing that a real one has.
})
