import { describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { addResults } from '../../../src/machines/prepare-results.ts'
import type { SnapshotClaim } from '../../../src/machines/queues.ts'
import { writeResults } from '../../../src/machines/results.ts'
import { useHomes } from '../../support/homes.ts'
import { queuedPages } from '../../support/queued.ts'

const homes = useHomes()

/** The same object, but for one of its methods. */
function except<T extends object>(of: T, method: keyof T, instead: unknown): T {
  return new Proxy(of, {
    get(_of, name) {
      const value: unknown = name === method ? instead : Reflect.get(of, name, of)
      return typeof value === 'function' ? value.bind(of) : value
    },
  })
}

/** The same database, whose connection is lost once: before or after it has done what it was asked. */
function lostOnce(db: Database, when: 'before' | 'after'): Database {
  let isLost = false
  return except(db, 'getExecutor', () => {
    const executor = db.getExecutor()
    if (isLost) return executor
    isLost = true
    return except(executor, 'executeQuery', async (query: Parameters<typeof executor.executeQuery>[0]) => {
      if (when === 'after') await executor.executeQuery(query)
      throw Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' })
    })
  })
}

describe.each(['before', 'after'] as const)('a connection that is lost once, %s the write,', (when) => {
  it('loses no end of a hook, nor the results of late ones', async () => {
    const home = await homes.make()
    const { pages } = await queuedPages(home, ['http://127.0.0.1:9/'])
    const [token, dataDirId, processId] = [uuidv7(), uuidv7(), uuidv7()]
    await home.query("update snapshot set status = 'started', claim_token = $1, claimed_by = $2", [token, processId])
    await home.query('insert into runner_term values ($1, 1, $2)', [dataDirId, processId])
    const db = openDatabase(home.databaseUrl, { name: 'the test' })
    const claim = { id: pages[0], token } as SnapshotClaim
    const owner = () => {
      const { dataDir, databaseUrl } = home
      const place = { db: lostOnce(db, when), databaseUrl, embedded: false, machineId: '', dataDir, dataDirId }
      return { home: place, processId, term: 1 }
    }
    try {
      const hooks = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ plugin: name, name }))
      const rows = await addResults(owner(), claim, hooks)
      expect(rows.map(({ plugin }) => plugin).sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
      // The last one was cut off before anybody had written that it began.
      await home.query("update archive_result set status = 'started' where plugin <> 'f'")
      const events = { a: 'succeed', b: 'empty', c: 'skip', d: 'fail', e: 'interrupt', f: 'interrupt' } as const
      await writeResults(
        owner(),
        claim,
        rows.map((result) => ({ result, event: events[result.plugin as keyof typeof events] })),
      )
      const written = await home.query('select status from archive_result order by plugin')
      expect(written.map((row) => row['status'])).toEqual([
        'succeeded',
        'noresults',
        'skipped',
        'failed',
        'queued',
        'queued',
      ])
      const moves = await home.query("select row_id from transition where event = 'interrupt'")
      expect(moves).toEqual([{ row_id: rows.find(({ plugin }) => plugin === 'e')!.id }])
      // Its page may have been written as begun later than it ended.
      await writeResults(owner(), claim, [{ result: rows[5]!, event: 'fail', ended: performance.now() - 3_600_000 }])
      const before = `select count(*)::int from archive_result r join snapshot s on s.id = r.snapshot_id
        where r.end_ts < s.status_changed_at`
      expect(await home.value(before)).toBe(0)
    } finally {
      await db.destroy()
    }
    await home.query('delete from snapshot') // It has nothing that a real one has.
  })
})
