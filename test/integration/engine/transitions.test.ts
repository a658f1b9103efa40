import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { countsStatement } from '../../../src/engine/count-statements.ts'
import { again, defineMachine, Queue, RETRY_AT_MAX } from '../../../src/engine/index.ts'
import { columns, JOB_TABLE, type Job, job, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { type TestDatabase, useDatabases } from '../../support/engine.ts'

const databases = useDatabases()
const make = () => databases.make(JOB_TABLE, TRANSITION_TABLE)
const queueOf = ({ sql }: TestDatabase) => new Queue<typeof job, Job>(job, sql)
const add = async (database: TestDatabase, status = 'queued', age = '0') =>
  await database.value<string>(
    `insert into job (status, retry_at, changed_at)
     values ($1, case when $1 = 'done' then null else now() end, now() - $2::interval) returning id::text`,
    [status, age],
  )
const at = async (database: TestDatabase, id: string) =>
  (
    await database.query<{ status: string; retry_at: Date | null; attempts: number }>(
      'select * from job where id = $1',
      [id],
    )
  )[0]
const history = async (database: TestDatabase) =>
  await database.query('select model, row_id, from_status, to_status, event from transition order by id')

/** Times out while it waits, and is deleted some time after its end, but not before. */
const timed = defineMachine({
  name: 'timed',
  table: 'job',
  idType: 'bigint',
  columns,
  history: true,
  initial: 'queued',
  states: {
    queued: { on: { finish: 'done' }, retryAfterMs: 30_000, timeout: { afterMs: 60_000, to: 'held' } },
    held: { on: { go: 'queued' }, external: true, timeout: { afterMs: 60_000, to: 'done' } },
    done: { final: true, deleteAfterMs: 60_000 },
  },
})

describe('an event from outside', () => {
  it('pauses and resumes rows in the states that offer it, and takes them from whoever has claimed them', async () => {
    const database = await make()
    const [free, held, done] = [await add(database), await add(database), await add(database, 'done')]
    const queue = queueOf(database)
    const claim = await queue.claimRow(held, { owner: randomUUID() })
    expect((await queue.send([free, held, done, '999'], 'pause')).sort()).toEqual([free, held])
    for (const id of [free, held])
      expect(await at(database, id)).toMatchObject({ status: 'paused', retry_at: RETRY_AT_MAX, claim_token: null })
    expect(await at(database, done)).toMatchObject({ status: 'done', retry_at: null })
    expect(await queue.settle([{ claim: claim!, outcome: again() }])).toEqual(new Set())
    expect(await queue.claim({ limit: 9 })).toEqual([])

    expect(await queue.send([free], 'resume')).toEqual([free])
    const when = new Date('2199-05-05T05:05:05Z')
    expect(await queue.send([held, free], 'resume', when)).toEqual([held])
    expect(await at(database, held)).toMatchObject({ status: 'queued', retry_at: when, attempts: 0 })
    expect(await queue.claim({ limit: 9 })).toMatchObject([{ id: free }])
    expect(await history(database)).toMatchObject([
      { row_id: free, event: 'pause' },
      { row_id: held, event: 'pause' },
      { row_id: free, from_status: 'paused', to_status: 'queued', event: 'resume' },
      { row_id: held, event: 'resume' },
    ])
  })

  it('that leads to an end leaves no schedule, whatever is asked for', async () => {
    const database = await make()
    const [one, two] = [await add(database), await add(database)]
    const queue = queueOf(database)
    await queue.send([one], 'finish')
    await queue.send([two], 'finish', new Date())
    for (const id of [one, two]) expect(await at(database, id)).toMatchObject({ status: 'done', retry_at: null })
  })

  it('that no state offers is an error', async () => {
    const database = await make()
    await expect(queueOf(database).send(['1'], 'explode' as 'pause')).rejects.toThrow(
      'state graph "job": no state offers the event "explode"',
    )
  })
})

describe('a batch of outcomes', () => {
  it('is written in one statement, each with its schedule, its count of attempts and its line in the history', async () => {
    const database = await make()
    for (let count = 0; count < 4; count++) await add(database, 'queued', '1 hour')
    const queue = queueOf(database)
    const claims = await queue.claim({ limit: 4 })
    const by = randomUUID()
    const outcomes = ['start', 'finish', 'pause', again(90_000)] as const
    const settled = claims.map((claim, index) => ({ claim, outcome: outcomes[index] }))
    expect((await queue.settle(settled as never, by)).size).toBe(4)
    const rows = await database.query(`
      select status, attempts, claim_token, changed_at > now() - interval '1 min' as changed,
        case when retry_at <= now() then 'now' when retry_at between now() and now() + interval '90 s' then 'in 90 s'
          when retry_at is not null then 'never' end as due
      from job order by id`)
    expect(rows).toEqual([
      { status: 'started', attempts: 0, claim_token: null, due: 'now', changed: true },
      { status: 'done', attempts: 0, claim_token: null, due: null, changed: true },
      { status: 'paused', attempts: 0, claim_token: null, due: 'never', changed: true },
      { status: 'queued', attempts: 0, claim_token: null, due: 'in 90 s', changed: false },
    ])
    expect(
      (await database.query('select * from transition order by id')).map((line) => [
        line['row_id'],
        line['event'],
        line['process_id'],
      ]),
    ).toEqual([
      ['1', 'start', by],
      ['2', 'finish', by],
      ['3', 'pause', by],
    ])
  })

  it('may lead a row back into its own state, which is a transition like any other', async () => {
    const database = await make()
    const poll = defineMachine({
      ...{ name: 'poll', table: 'job', idType: 'bigint', columns, history: true, initial: 'queued' },
      states: { queued: { on: { look: 'queued', finish: 'done' }, retryAfterMs: 1_000 }, done: { final: true } },
    })
    await add(database, 'queued', '1 hour')
    const queue = new Queue(poll, database.sql)
    const [claim] = await queue.claim()
    await queue.settle([{ claim: claim!, outcome: 'look' }])
    expect(await database.value(`select changed_at > now() - interval '1 min' from job`)).toBe(true)
    expect(await history(database)).toEqual([
      { model: 'poll', row_id: '1', from_status: 'queued', to_status: 'queued', event: 'look' },
    ])
  })

  it('without a history writes none', async () => {
    const database = await databases.make(JOB_TABLE)
    await add(database)
    const queue = new Queue({ ...job, history: false }, database.sql)
    const [claim] = await queue.claim()
    expect((await queue.settle([{ claim: claim!, outcome: 'finish' }])).size).toBe(1)
  })
})

describe('timeouts', () => {
  it('fire for rows that have been in their state for too long, unless somebody works on them at this moment', async () => {
    const database = await make()
    const [late, early, atWork, abandoned] = [
      await add(database, 'queued', '61 s'),
      await add(database, 'queued', '30 s'),
      await add(database, 'queued', '61 s'),
      await add(database, 'queued', '61 s'),
    ]
    const queue = new Queue(timed, database.sql)
    await queue.claimRow(atWork)
    await queue.claimRow(abandoned, { leaseSeconds: 0 })
    await database.query('update job set attempts = 2 where id = $1', [late])
    expect(await queue.expire()).toBe(2)
    for (const id of [late, abandoned]) {
      expect(await at(database, id)).toMatchObject({
        status: 'held',
        retry_at: RETRY_AT_MAX,
        attempts: 0,
        claim_token: null,
      })
    }
    for (const id of [early, atWork]) expect(await at(database, id)).toMatchObject({ status: 'queued' })
    expect(await history(database)).toContainEqual({
      model: 'timed',
      row_id: late,
      from_status: 'queued',
      to_status: 'held',
      event: 'timeout',
    })
    expect(await queue.expire()).toBe(0)
  })

  it('go on from state to state, into an end without a schedule', async () => {
    const database = await make()
    const id = await add(database, 'held', '61 s')
    expect(await new Queue(timed, database.sql).expire()).toBe(1)
    expect(await at(database, id)).toMatchObject({ status: 'done', retry_at: null })
  })

  it('are taken in batches', async () => {
    const database = await make()
    for (let count = 0; count < 5; count++) await add(database, 'queued', '61 s')
    const queue = new Queue(timed, database.sql)
    expect([await queue.expire(2), await queue.expire(2), await queue.expire(2)]).toEqual([2, 2, 1])
  })
})

describe('deletion', () => {
  it('takes only rows in the state that asks for it, however old the others are, in batches', async () => {
    const database = await make()
    const old = [
      await add(database, 'queued', '10 years'),
      await add(database, 'held', '10 years'),
      await add(database, 'done', '30 s'),
    ]
    for (let count = 0; count < 5; count++) await add(database, 'done', '61 s')
    const queue = new Queue(timed, database.sql)
    expect([
      await queue.deleteOld(2),
      await queue.deleteOld(2),
      await queue.deleteOld(2),
      await queue.deleteOld(2),
    ]).toEqual([2, 2, 1, 0])
    expect((await database.query('select id::text from job order by id')).map((row) => row['id'])).toEqual(old)
  })

  it('steps over a row that somebody holds, and takes it the next time', async () => {
    const database = await make()
    await add(database, 'done', '61 s')
    const queue = new Queue(timed, database.sql)
    const client = await database.pool.connect()
    await client.query('begin; select from job for update')
    expect(await queue.deleteOld()).toBe(0)
    await client.query('commit')
    client.release()
    expect(await queue.deleteOld()).toBe(1)
  })
})

describe('counts', () => {
  it('count each state that is asked for', async () => {
    const database = await make()
    for (const state of ['queued', 'queued', 'done', 'ghost']) await add(database, state)
    const queue = queueOf(database)
    expect(await queue.counts()).toEqual({ queued: 2, started: 0, paused: 0, done: 1, failed: 0 })
    expect(await queue.counts(['done'])).toEqual({ done: 1 })
    expect(await queue.unknown()).toEqual({ ghost: 1 })
  })

  it('look into the index, once for each state, and never through the rows', async () => {
    const database = await make()
    await database.query('create index job_status on job (status)')
    await database.query(
      `insert into job (status) select case when n % 100 = 0 then 'queued' else 'done' end
        from generate_series(1, 20000) n`,
    )
    await database.query('vacuum analyze job')
    const { text } = countsStatement(job, ['queued', 'started', 'failed'])
    const plan = (await database.query(`explain ${text}`)).map((line) => String(line['QUERY PLAN'])).join('\n')
    expect(plan.match(/Index Only Scan using job_status/g)).toHaveLength(3)
    expect(plan).not.toContain('Seq Scan')
  })
})
