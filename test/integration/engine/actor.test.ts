import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  Actor,
  type ActorOptions,
  type Handled,
  ObjectAlreadyClaimed,
  Queue,
  QueueIsEmpty,
  withHandlers,
} from '../../../src/engine/index.ts'
import { JOB_TABLE, type Job, job, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { gate, type TestDatabase, useDatabases } from '../../support/engine.ts'
import { eventually } from '../../support/program.ts'

const databases = useDatabases()
const make = () => databases.make(JOB_TABLE, TRANSITION_TABLE)
const finish = withHandlers<typeof job, Job>(job, { queued: async () => 'finish', started: async () => 'finish' })
type Options = ActorOptions<typeof job, Job>
const actorOf = (database: TestDatabase, options: Partial<Options> = {}) =>
  new Actor<typeof job, Job>({ sql: database.sql, handlers: finish, idleMs: 10, ...options })
const add = async (database: TestDatabase, count = 1) =>
  await database.query('insert into job (note) select null from generate_series(1, $1::int)', [count])

describe('the queues of an actor', () => {
  it('tell pending, stalled, future, active and final rows apart', async () => {
    const database = await make()
    await add(database, 8)
    const queue = new Queue(job, database.sql)
    const ids = {
      due: '1',
      stalled: '2',
      scheduled: '3',
      failedOnce: '4',
      active: '5',
      final: '6',
      paused: '7',
      unscheduled: '8',
    }
    await queue.claimRow(ids.stalled, { leaseSeconds: 0, owner: randomUUID() })
    await database.query(`update job set retry_at = now() + interval '1 h' where id in (3, 4)`)
    await database.query(`update job set attempts = 1, status = 'started' where id = 4`)
    await queue.claimRow(ids.active)
    await queue.send([ids.final], 'finish')
    await queue.send([ids.paused], 'pause')
    await database.query('update job set retry_at = null where id = 8')
    const { queues } = actorOf(database)
    const rows = async (name: keyof typeof queues) => (await queues[name].rows(10)).map(({ id }) => id).sort()
    expect({
      pending: await rows('pending'),
      stalled: await rows('stalled'),
      future: await rows('future'),
      active: await rows('active'),
      final: await rows('final'),
    }).toEqual({ pending: ['1', '2'], stalled: ['2'], future: ['3', '4'], active: ['5'], final: ['6'] })
    expect([await queues.pending.count(), await queues.pending.count(1), await queues.active.count()]).toEqual([
      2, 1, 1,
    ])
  })

  it('keep to the rows of the actor', async () => {
    const database = await make()
    await database.query(`insert into job (note) values ('mine'), ('theirs')`)
    const actor = actorOf(database, {
      queue: { where: (first) => `work.note = $${first}`, whereValues: 1 },
      values: () => ['mine'],
    })
    expect(await actor.queues.pending.count()).toBe(1)
    for (const atomic of [true, false]) {
      const claim = await actor.getNext({ atomic })
      expect(claim.row.note).toBe('mine')
      await expect(actor.getNext({ atomic })).rejects.toThrow(QueueIsEmpty)
      await new Queue(job, database.sql).release(claim)
    }
  })
})

describe('the next row of an actor', () => {
  it.each([true, false])(
    '(atomic: %s) is claimed by exactly one of many; the others know that it is claimed, or that there is none',
    async (atomic) => {
      const database = await make()
      await add(database)
      const owners = Array.from({ length: 6 }, () => randomUUID())
      const answers = await Promise.allSettled(owners.map((owner) => actorOf(database, { owner }).getNext({ atomic })))
      const won = answers.filter((answer) => answer.status === 'fulfilled')
      const lost = answers.filter((answer) => answer.status === 'rejected').map(({ reason }) => reason as Error)
      expect(won).toHaveLength(1)
      expect(lost).toHaveLength(5)
      for (const error of lost)
        expect(error instanceof ObjectAlreadyClaimed || error instanceof QueueIsEmpty).toBe(true)
      expect(owners).toContain(won[0]?.value.row.claimed_by)
      await expect(actorOf(database).getNext({ atomic })).rejects.toThrow(QueueIsEmpty)
    },
  )

  it.each([true, false])(
    '(atomic: %s) is "already claimed" while somebody else is claiming the only one',
    async (atomic) => {
      const database = await make()
      await add(database)
      const other = await database.pool.connect()
      await other.query('begin')
      await other.query(`update job set retry_at = now() + interval '1 min'`)
      const next = actorOf(database).getNext({ atomic })
      const answer = expect(next).rejects.toThrow(ObjectAlreadyClaimed)
      const waits = `select true from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      await eventually(() => database.value(waits))
      await other.query('commit')
      other.release()
      await answer
    },
  )

  it('is one of the first few, at random; the first one when it is not claimed in one statement', async () => {
    const database = await make()
    await add(database, 40)
    const actor = actorOf(database, { claimFromTopN: 5 })
    const picked = new Set<number>()
    const queue = new Queue(job, database.sql)
    for (let round = 0; round < 60; round++) {
      const claim = await actor.getNext()
      picked.add(Number(claim.id))
      await queue.release(claim)
      await database.query('update job set retry_at = (select min(retry_at) from job) where id = $1', [claim.id])
    }
    expect(Math.max(...picked)).toBeLessThanOrEqual(5)
    expect(picked.size).toBeGreaterThan(1)
    expect(await actor.getNext({ atomic: false })).toMatchObject({ id: '1' })
  })

  it('is the oldest, or the newest', async () => {
    const database = await make()
    await database.query(`insert into job (retry_at) values (now() - interval '2 h'), (now() - interval '1 h')`)
    const first = async (claimOrder: 'oldest' | 'newest') =>
      (await actorOf(database, { claimOrder, claimFromTopN: 1 }).getNext()).id
    expect([await first('newest'), await first('oldest')]).toEqual(['2', '1'])
  })
})

describe('the loop of an actor', () => {
  it('works until nothing has been due for a while, and calls its hooks around each tick', async () => {
    const database = await make()
    await add(database, 2)
    const calls: string[] = []
    const handlers = withHandlers<typeof job, Job>(job, {
      queued: async ({ id }) => {
        calls.push(`tick ${id}`)
        if (id === '2') throw new Error('broken')
        return 'finish'
      },
      started: async () => {},
    })
    await actorOf(database, {
      handlers,
      claimAtomic: false,
      onStartup: () => calls.push('startup'),
      onShutdown: (last, error) => calls.push(`shutdown ${last?.id} ${error?.message}`),
      onTickStart: ({ id }) => calls.push(`start ${id}`),
      onTickEnd: ({ id }) => calls.push(`end ${id}`),
      onTickException: ({ id }, error) => calls.push(`exception ${id} ${error.message}`),
      onError: (error, claim) => calls.push(`error ${claim?.id} ${error.message}`),
    }).run()
    expect(calls).toEqual([
      'startup',
      'start 1',
      'tick 1',
      'end 1',
      'start 2',
      'tick 2',
      'error 2 broken',
      'exception 2 broken',
      'shutdown 2 broken',
    ])
    expect(
      await database.query('select status, attempts, claim_token, retry_at > now() as later from job order by id'),
    ).toEqual([
      { status: 'done', attempts: 0, claim_token: null, later: null },
      { status: 'queued', attempts: 1, claim_token: null, later: true },
    ])
  })

  it('fails the tick when its first hook throws; other hooks that throw are reported', async () => {
    const database = await make()
    await add(database, 1)
    const errors: string[] = []
    const broken = (what: string) => () => {
      throw new Error(what)
    }
    await actorOf(database, {
      maxIdleTicks: 1,
      onTickStart: broken('start'),
      onTickException: broken('exception'),
      onShutdown: broken('shutdown'),
      onError: (error) => errors.push(error.message),
    }).run()
    expect(errors).toEqual(['start', 'exception', 'shutdown'])
    expect(await database.query('select status, attempts from job')).toEqual([{ status: 'queued', attempts: 1 }])
    await expect(actorOf(database, { onStartup: broken('startup') }).run()).rejects.toThrow('startup')
  })

  it('ends a tick that takes too long', async () => {
    const database = await make()
    await add(database, 1)
    const errors: Error[] = []
    const handlers = withHandlers<typeof job, Job>(job, {
      queued: () => new Promise(() => {}),
      started: async () => {},
    })
    const actor = actorOf(database, {
      handlers,
      maxTickMs: 30,
      maxIdleTicks: 1,
      onTickException: (_, error) => errors.push(error),
      onError: () => {},
    })
    await actor.run()
    expect(errors).toMatchObject([{ name: 'DeadlineExceeded' }])
    expect(await database.query('select status, attempts, claim_token from job')).toEqual([
      { status: 'queued', attempts: 1, claim_token: null },
    ])
  })

  it('drains: ends its tick and leaves; is forced: stops it and gives the row back', async () => {
    const database = await make()
    await add(database, 2)
    for (const how of ['signal', 'force'] as const) {
      const { opened, open } = gate()
      const stop = new AbortController()
      let isTicking = false
      const work = async (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
        isTicking = true
        signal.addEventListener('abort', open)
        await opened
        return 'finish' as const
      }
      const handlers = withHandlers<typeof job, Job>(job, { queued: work, started: work })
      const running = actorOf(database, { handlers, maxIdleTicks: Number.POSITIVE_INFINITY }).run({
        [how]: stop.signal,
      })
      await eventually(() => isTicking)
      stop.abort()
      if (how === 'signal') open()
      await running
    }
    expect(await database.query('select status, attempts, retry_at <= now() as due from job order by status')).toEqual([
      { status: 'done', attempts: 0, due: null },
      { status: 'queued', attempts: 0, due: true },
    ])
  })

  it('goes on when the database was away', async () => {
    const database = await make()
    await add(database, 1)
    const errors: string[] = []
    let troubles = 3
    const sql = {
      query: async <Row>(...query: Parameters<typeof database.sql.query>) => {
        if (troubles-- > 0) throw new Error('away')
        return await database.sql.query<Row>(...query)
      },
    }
    await actorOf(database, { sql, maxIdleTicks: 1, onError: (error) => errors.push(error.message) }).run()
    expect(errors).toEqual(['away', 'away', 'away'])
    expect(await database.value('select status from job')).toBe('done')
  })

  it('ticks one very row, if it is due, and does nothing otherwise', async () => {
    const database = await make()
    await add(database, 2)
    const actor = actorOf(database)
    const both = await Promise.all([actor.tickClaimed('2'), actorOf(database).tickClaimed('2')])
    expect(both.filter((ticked) => ticked)).toHaveLength(1)
    expect(await actor.tickClaimed('2')).toBe(false)
    expect(await database.query('select status from job order by id')).toEqual([
      { status: 'queued' },
      { status: 'done' },
    ])
  })

  it('calls what its event is named after', async () => {
    const database = await make()
    await add(database, 1)
    const handlers = { ...finish, maintain: async () => 'pause' as const } as Handled<typeof job, Job>
    await actorOf(database, { handlers, eventName: 'maintain', maxIdleTicks: 1 }).run()
    expect(await database.value('select status from job')).toBe('paused')
    expect(() => actorOf(database, { eventName: 'tock' })).toThrow('the handlers of "job" have no function "tock"')
  })
})
