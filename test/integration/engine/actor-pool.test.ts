import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Actor, ActorPool, type ActorPoolOptions, type Exit, withHandlers } from '../../../src/engine/index.ts'
import { JOB_TABLE, type Job, job, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { type TestDatabase, useDatabases } from '../../support/engine.ts'
import { isThere } from '../../support/processes.ts'
import { eventually, ROOT } from '../../support/program.ts'

const databases = useDatabases()
const make = () => databases.make(JOB_TABLE, TRANSITION_TABLE)
const fixtures = join(ROOT, 'test', 'fixtures', 'engine')
const module = join(fixtures, 'pool-actor.ts')
const add = async (database: TestDatabase, count: number, note: string | null = null) =>
  await database.query('insert into job (note) select $2 from generate_series(1, $1::int)', [count, note])
const { owner: _, ...columns } = job.columns
const bareJob = { ...job, columns } as typeof job

/** A pool, and what it reports. Whatever becomes of the test, nothing of the pool stays. */
function poolOf(database: TestDatabase, options: Partial<ActorPoolOptions> = {}, bare = false) {
  const errors: Error[] = []
  const pool = new ActorPool({
    sql: database.sql,
    machine: bare ? bareJob : job,
    actors: { mode: 'process', module, execArgv: [] },
    launch: { url: database.url, bare },
    tickMs: 50,
    onError: (error) => errors.push(error),
    ...options,
  })
  const force = new AbortController()
  let running: Promise<void> | undefined
  const run = (signal?: AbortSignal) => {
    running = pool.run({ force: force.signal, ...(signal ? { signal } : {}) })
    return running
  }
  onTestFinished(async () => {
    force.abort()
    await running
  })
  return { pool, errors, run }
}
const doneBy = async (database: TestDatabase) =>
  (
    await database.query<{ done_by: number }>(
      `select distinct done_by from job where status = 'done' and done_by is not null`,
    )
  ).map((row) => row.done_by)

describe('actors that share a process', () => {
  /** A pool of two bodies of one owner, which end as the test says. */
  async function shared() {
    const database = await make()
    const owner = randomUUID()
    const ends: ((exit: Exit) => void)[] = []
    const reaped: Exit[] = []
    const body = () => {
      const { promise: gone, resolve } = Promise.withResolvers<Exit>()
      ends.push(resolve)
      return { owner, pid: 1, gone, send: () => {}, listen: () => {}, kill: () => {} }
    }
    const { pool } = poolOf(database, {
      actors: { mode: 'custom', start: async () => body() },
      maxConcurrentActors: 2,
      reap: async (_slot, exit) => void reaped.push(exit),
    })
    await pool.fill(11)
    return { pool, end: (at: number, exit: Exit) => ends[at]!(exit), reaped }
  }
  const killed = { code: null, signal: 'SIGKILL' }

  it('are reaped once, when the last one is gone; until then each takes its place', async () => {
    const { pool, end, reaped } = await shared()
    end(0, killed)
    await setImmediate()
    expect([pool.size, reaped]).toEqual([2, []])
    end(1, killed)
    await setImmediate()
    expect([pool.size, pool.crashes, reaped]).toEqual([0, 1, [killed]])
  })

  it('make room for another at once where one ends alone', async () => {
    const { pool, end, reaped } = await shared()
    end(0, { code: 0, signal: null, othersGoOn: true })
    await setImmediate()
    expect([pool.size, reaped]).toEqual([1, []])
    await pool.fill(2) // The one that is still there will take one of them.
    end(2, { code: 1, signal: null, othersGoOn: true })
    await setImmediate()
    expect([pool.size, pool.crashes, reaped]).toEqual([1, 1, []])
    end(1, { code: 0, signal: null })
    await setImmediate()
    expect([pool.size, pool.crashes, reaped]).toEqual([0, 1, [{ code: 0, signal: null }]])
  })
})

describe('a pool of processes', () => {
  it('works a queue off with a few processes, and leaves when there is nothing left', async () => {
    const database = await make()
    await add(database, 40)
    const { pool, errors, run } = poolOf(database, { exitOnIdle: true, maxConcurrentActors: 2 })
    await run()
    expect(await database.value(`select count(*)::int from job where status = 'done'`)).toBe(40)
    const pids = await doneBy(database)
    // One that finds nothing at the wrong moment leaves, and another one comes: but not for each row.
    expect(pids.length).toBeLessThan(10)
    expect(pids).not.toContain(process.pid)
    for (const pid of pids) expect(isThere(pid)).toBe(false)
    expect(errors).toEqual([])
    expect(pool.running).toEqual([])
  })

  it.each([false, true])(
    'sees one of them killed (table without an owner column: %s): its row is due again long before its lease ends',
    async (bare) => {
      const database = await make()
      await add(database, 1, 'wait once')
      const stop = new AbortController()
      const { errors, run } = poolOf(database, {}, bare)
      const running = run(stop.signal)
      const pid = await eventually(() => database.value<number>('select done_by from job'))
      expect(await database.value(`select retry_at > now() + interval '30 s' from job`)).toBe(true)
      process.kill(pid, 'SIGKILL')
      // The lease would have held for 60 s.
      await eventually(() => database.value(`select status = 'done' from job`), 50_000)
      stop.abort()
      await running
      expect(await doneBy(database)).not.toContain(pid)
      expect(errors).toMatchObject([{ message: `actor ${pid} ended with SIGKILL` }])
    },
  )

  it('does not start a row for ever that kills each process', async () => {
    const database = await make()
    await add(database, 1, 'die')
    const { errors, run } = poolOf(database, { exitOnIdle: true })
    await run()
    expect(await database.value('select status from job')).toBe('failed')
    expect(errors).toHaveLength(3)
  })

  it('drains: lets ticks end; kills those that take longer than it may take, and gives their rows back', async () => {
    const database = await make()
    await add(database, 1, 'wait once')
    const stop = new AbortController()
    const { run } = poolOf(database, { drainMs: 100 })
    const running = run(stop.signal)
    const pid = await eventually(() => database.value<number>('select done_by from job'))
    stop.abort()
    await running
    expect(isThere(pid)).toBe(false)
    expect(await database.query('select status, claim_token, retry_at <= now() as due from job')).toEqual([
      { status: 'queued', claim_token: null, due: true },
    ])
  })

  it('whose processes end at once says so, again and again but not all the time', async () => {
    const database = await make()
    await add(database, 20)
    const stop = new AbortController()
    const { errors, run } = poolOf(database, {
      actors: { mode: 'process', module: join(fixtures, 'broken-actor.ts'), execArgv: [] },
    })
    const running = run(stop.signal)
    await eventually(() => errors.length >= 3)
    stop.abort()
    await running
    expect(errors[0]?.message).toMatch(/^actor \d+ ended with exit code 1$/)
    expect(errors.length).toBeLessThan(10)
  })
})

describe('a pool of loops in this process', () => {
  it('works a queue off, and takes rows from a loop that broke', async () => {
    const database = await make()
    await add(database, 30)
    let loops = 0
    const finish = withHandlers<typeof job, Job>(job, { queued: async () => 'finish', started: async () => 'finish' })
    const actor = ({ owner }: { readonly owner: string }) => {
      loops += 1
      const healthy = new Actor<typeof job, Job>({ sql: database.sql, handlers: finish, owner, idleMs: 10 })
      if (loops > 1) return healthy
      return {
        run: async () => {
          await healthy.getNext()
          throw new Error('broken loop')
        },
      }
    }
    const { errors, run } = poolOf(database, { actors: { mode: 'thread', actor }, exitOnIdle: true })
    await run()
    expect(errors).toEqual([new Error('broken loop')])
    expect(await database.value(`select count(*)::int from job where status = 'done'`)).toBe(30)
  })
})
