import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Database, type DatabaseOptions, openDatabase } from '../../../src/db/database.ts'
import { transact, withRetry } from '../../../src/db/retry.ts'
import { isDatabaseAway } from '../../../src/db/trouble.ts'
import { DatabaseProxy } from '../../support/database-proxy.ts'
import { type TestDatabase, useDatabases } from '../../support/engine.ts'
import { eventually } from '../../support/program.ts'

const databases = useDatabases()
let server: TestDatabase
let proxy: DatabaseProxy
let stop: AbortController
const opened: Database[] = []

beforeEach(async () => {
  server = await databases.make('create table counter (n int)', 'insert into counter values (0)')
  proxy = await DatabaseProxy.before(server.url)
  stop = new AbortController()
})
afterEach(async () => {
  stop.abort()
  for (const db of opened.splice(0)) await db.destroy()
  await proxy.close()
})

function open(options: Partial<DatabaseOptions> = {}): Database {
  const db = openDatabase(proxy.url, { name: 'the test', connections: 1, ...options })
  opened.push(db)
  return db
}
/** Long enough for what does come, on a busy machine. */
const LATE_MS = 3_000
const one = async (db: Database) => (await sql<{ one: number }>`select 1 as one`.execute(db)).rows[0]?.one
const backend = async (db: Database) =>
  (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]?.pid
const count = () => server.value<number>('select n from counter')
/** The other ends, which are in this process, too, hear of it some turns of its loop later. */
const allCut = async () => {
  await eventually(() => proxy.connections === 0)
  for (let turn = 0; turn < 10; turn += 1) await setImmediate()
}
const add = (db: Database) => sql`update counter set n = n + 1`.execute(db)

describe('a connection', () => {
  it('on which no answer comes is given up after the deadline of the statement, and the next statement gets a new one', async () => {
    const db = open({ statementMs: LATE_MS })
    const first = await backend(db)
    proxy.silence()
    const late = await one(db).catch((error: unknown) => error)
    expect(late).toMatchObject({ message: 'the database did not answer within 3 s' })
    expect(isDatabaseAway(late)).toBe(true)
    proxy.pass()
    expect(await backend(db)).not.toBe(first)
  })

  it('that is late in the middle of a transaction is not used again, and the transaction did not happen', async () => {
    const db = open({ statementMs: LATE_MS })
    const work = db.transaction().execute(async (tx) => {
      await add(tx)
      proxy.silence()
      await one(tx)
    })
    expect(isDatabaseAway(await work.catch((error: unknown) => error))).toBe(true)
    proxy.pass()
    expect(await one(db)).toBe(1)
    expect(await count()).toBe(0)
  })

  it('that nobody answers while it is made is given up after five seconds', async () => {
    proxy.silence()
    const error = await one(open()).catch((reason: unknown) => reason)
    expect(isDatabaseAway(error)).toBe(true)
  })

  it('that is cut while nothing goes on costs nothing, nor does one that is cut in the middle of an answer', async () => {
    const db = open()
    await one(db)
    proxy.reset()
    await allCut()
    expect(await one(db)).toBe(1)
    proxy.cutAfter(20)
    expect(isDatabaseAway(await one(db).catch((error: unknown) => error))).toBe(true)
    proxy.pass()
    expect(await one(db)).toBe(1)
  })

  it('to a server that became read-only is left for a new one, which may lead to the new primary', async () => {
    const db = open()
    const first = await backend(db)
    await sql`set default_transaction_read_only = on`.execute(db)
    const refused = await add(db).catch((error: unknown) => error)
    expect(isDatabaseAway(refused)).toBe(true)
    expect(await backend(db)).not.toBe(first)
    await add(db)
    expect(await count()).toBe(1)
  })
})

describe('a database with patience', () => {
  it('waits with its statements until the server is back', async () => {
    const db = open({ patience: { until: stop.signal } })
    await one(db)
    proxy.refuse()
    await allCut()
    const waiting = add(db)
    setTimeout(() => proxy.pass(), 500)
    await waiting
    expect(await count()).toBe(1)
  })

  it('stops waiting when it is told to, and fails at once without a policy', async () => {
    proxy.refuse()
    const waiting = one(open({ patience: { until: stop.signal } }))
    setTimeout(() => stop.abort(), 300)
    await expect(waiting).rejects.toThrow(/no longer waiting for the database/)
    expect(isDatabaseAway(await one(open()).catch((error: unknown) => error))).toBe(true)
  })

  it('never takes a wrong password or a database that does not exist for an outage', async () => {
    const nowhere = openDatabase(Object.assign(new URL(proxy.url), { pathname: '/nowhere' }).href, {
      name: 'the test',
      patience: { until: stop.signal },
    })
    opened.push(nowhere)
    await expect(one(nowhere)).rejects.toMatchObject({ code: '3D000' })
  })
})

describe('work that may be done again', () => {
  it('learns that an earlier try may have taken effect when the answer to a COMMIT was lost', async () => {
    const db = open()
    const seen: boolean[] = []
    const cut = proxy.cutInsteadOfReplyTo(/commit/)
    await transact(db, async (tx, again) => {
      seen.push(again)
      if (!again || (await sql<{ n: number }>`select n from counter`.execute(tx)).rows[0]?.n === 0) await add(tx)
    })
    await cut
    expect(seen).toEqual([false, true])
    expect(await count()).toBe(1)
  })

  it('is done again after a deadlock, five times at the most', async () => {
    const db = open()
    let tries = 0
    const collide = () =>
      withRetry(db, async (again) => {
        tries += 1
        expect(again).toBe(false)
        await sql`do $$ begin raise exception using errcode = '40P01'; end $$`.execute(db)
      })
    await expect(collide()).rejects.toMatchObject({ code: '40P01' })
    expect(tries).toBe(5)
  })

  it('is not done again for any other error, nor as a part of a transaction', async () => {
    const db = open()
    let tries = 0
    await expect(
      withRetry(db, async () => {
        tries += 1
        await sql`select nothing`.execute(db)
      }),
    ).rejects.toMatchObject({ code: '42703' })
    const inside = db.transaction().execute((tx) =>
      withRetry(tx, async () => {
        tries += 1
        await sql`do $$ begin raise exception using errcode = '40001'; end $$`.execute(tx)
      }),
    )
    await expect(inside).rejects.toMatchObject({ code: '40001' })
    expect(tries).toBe(2)
  })
})
