import { describe, expect, it } from 'vitest'
import {
  again,
  ClaimLost,
  DeadlineExceeded,
  defineMachine,
  ForeignOutcome,
  type Handler,
  Queue,
  Runner,
  type RunnerOptions,
  type Sql,
  TryAgainLater,
  withHandlers,
} from '../../src/engine/index.ts'
import { columns, JOB_TABLE, type Job, TRANSITION_TABLE } from '../fixtures/engine/job.ts'
import { gate, runUntil, type TestDatabase, useDatabases } from '../support/engine.ts'
import { eventually } from '../support/program.ts'

const databases = useDatabases()
const make = () => databases.make(JOB_TABLE, TRANSITION_TABLE)

/** Comes back quickly, and gives up after three attempts. */
const quick = defineMachine({
  ...{ name: 'quick', table: 'job', idType: 'bigint', columns, history: true, initial: 'queued' },
  states: {
    queued: { on: { finish: 'done', pause: 'paused' }, retryAfterMs: 20, giveUp: { after: 3, to: 'failed' } },
    paused: { on: { resume: 'queued' }, external: true },
    done: { final: true },
    failed: { final: true },
  },
})
type Work = Handler<typeof quick, 'queued', Job>
const add = async (database: TestDatabase, ...notes: string[]) => {
  for (const note of notes) await database.query('insert into job (note) values ($1)', [note])
}
const open = async (database: TestDatabase) =>
  await database.value<number>(`select count(*)::int from job where status not in ('done', 'failed')`)
const statuses = async (database: TestDatabase) =>
  Object.fromEntries((await database.query('select note, status from job')).map(({ note, status }) => [note, status]))

/** A runner with one handler, and what it reports. */
function runnerOf(
  database: TestDatabase,
  work: Work,
  options: Partial<RunnerOptions> & { readonly leaseSeconds?: number } = {},
) {
  const { leaseSeconds, ...rest } = options
  const reports: { error: Error; id: string | undefined }[] = []
  const runner = new Runner({
    sql: database.sql,
    models: [
      { handlers: withHandlers<typeof quick, Job>(quick, { queued: work }), ...(leaseSeconds ? { leaseSeconds } : {}) },
    ],
    watchdog: false,
    onError: (error, claim) => reports.push({ error, id: claim?.id }),
    ...rest,
  })
  return { runner, reports }
}

describe('a handler that fails', () => {
  const never = new Promise<never>(() => {})
  it.each<[string, Work, object]>([
    ['throws an error', () => Promise.reject(new Error('broken')), { message: 'broken' }],
    [
      'throws before it returns a promise',
      () => {
        throw new Error('at once')
      },
      { message: 'at once' },
    ],
    [
      'throws what is no error',
      () => Promise.reject('just text'),
      { message: 'not an Error was thrown: just text', cause: 'just text' },
    ],
    ['throws nothing at all', () => Promise.reject(undefined), { message: 'not an Error was thrown: undefined' }],
    [
      'answers with an event that its state does not offer',
      async () => 'explode' as 'finish',
      { name: 'ForeignOutcome', message: 'state graph "quick": state "queued" does not offer the event "explode"' },
    ],
    [
      'answers with nonsense',
      (async () => ({ again: true, afterMs: Number.NaN })) as Work,
      {
        name: 'ForeignOutcome',
        message: 'state graph "quick": state "queued" does not offer { again: true, afterMs: NaN }',
      },
    ],
    [
      'never returns',
      () => never,
      { name: 'DeadlineExceeded', message: 'quick 1: the handler of "queued" was not done at its deadline' },
    ],
  ])(
    'because it %s: is counted and reported, and its row tried again, and given up after three attempts',
    async (_, work, error) => {
      const database = await make()
      await add(database, 'bad', 'good')
      const attempts: number[] = []
      const { runner, reports } = runnerOf(
        database,
        async (claim, context) => {
          if (claim.row.note === 'good') return 'finish'
          attempts.push(claim.attempts)
          return await work(claim, context)
        },
        { deadlineMs: 50 },
      )
      const { models } = await runUntil(runner, async () => (await open(database)) === 0)
      expect(await statuses(database)).toEqual({ bad: 'failed', good: 'done' })
      expect(attempts).toEqual([1, 2, 3])
      expect(reports).toEqual(attempts.map(() => ({ error: expect.objectContaining(error), id: '1' })))
      expect(models['quick']).toMatchObject({
        claimed: 4,
        failed: 3,
        lost: 0,
        moved: { 'queued -give_up-> failed': 1, 'queued -finish-> done': 1 },
      })
      expect(await database.query(`select event, from_status, to_status from transition where row_id = '1'`)).toEqual([
        { event: 'give_up', from_status: 'queued', to_status: 'failed' },
      ])
    },
  )

  it('leaves its row in its state, due again later, with the attempt counted', async () => {
    const database = await make()
    await add(database, 'bad')
    const slow = {
      ...quick,
      states: { ...quick.states, queued: { ...quick.states.queued, retryAfterMs: 100_000 } },
    } as unknown as typeof quick
    const runner = new Runner({
      sql: database.sql,
      models: [{ handlers: withHandlers(slow, { queued: () => Promise.reject(new Error('broken')) }) }],
      onError: () => {},
    })
    await runner.runOnce()
    expect(
      await database.query(
        `select status, attempts, claim_token, claimed_by, retry_at - now() between '78 s' and '121 s' as later
          from job`,
      ),
    ).toEqual([{ status: 'queued', attempts: 1, claim_token: null, claimed_by: null, later: true }])
  })

  it('is not to blame when it says "later", however deep: nothing is counted or reported', async () => {
    const database = await make()
    await add(database, 'row')
    let looks = 0
    const { runner, reports } = runnerOf(database, async () => {
      looks += 1
      if (looks === 7) return 'finish'
      if (looks % 2 === 0) throw new TryAgainLater(1)
      return again(1)
    })
    const { models } = await runUntil(runner, async () => (await open(database)) === 0)
    expect(models['quick']).toMatchObject({ claimed: 7, again: 6, failed: 0 })
    expect(reports).toEqual([])
  })

  it('does not disturb others by a reporter that fails, too', async () => {
    const database = await make()
    await add(database, 'bad', 'good')
    const work: Work = async ({ row }) => {
      if (row.note === 'bad') throw new Error('broken')
      return 'finish'
    }
    const { runner } = runnerOf(database, work, {
      onError: () => {
        throw new Error('nobody listens')
      },
    })
    await runUntil(runner, async () => (await open(database)) === 0)
    expect(await statuses(database)).toEqual({ bad: 'failed', good: 'done' })
  })

  it('times out all the same: the timeout fires although it fails each time', async () => {
    const database = await make()
    await add(database, 'bad')
    const timed = defineMachine({
      ...{ name: 'timed', table: 'job', idType: 'bigint', columns, history: true, initial: 'queued' },
      states: {
        queued: { on: { finish: 'done' }, retryAfterMs: 10, timeout: { afterMs: 300, to: 'failed' } },
        done: { final: true },
        failed: { final: true },
      },
    })
    let attempts = 0
    const work = async () => {
      attempts += 1
      throw new Error('broken')
    }
    const runner = new Runner({
      sql: database.sql,
      models: [{ handlers: withHandlers(timed, { queued: work }) }],
      timeoutsEveryMs: 20,
      watchdog: false,
      onError: () => {},
    })
    const { models } = await runUntil(runner, async () => (await open(database)) === 0)
    expect(attempts).toBeGreaterThan(0)
    expect(models['timed']?.moved).toEqual({ 'queued -timeout-> failed': 1 })
    expect(await database.query('select event from transition')).toEqual([{ event: 'timeout' }])
  })
})

describe('a row that ends its worker each time', () => {
  it('is given up without being worked on again, after as many attempts as its state allows', async () => {
    const database = await make()
    await add(database, 'lethal', 'lived')
    const queue = new Queue(quick, database.sql)
    for (let deaths = 0; deaths < 3; deaths++) await queue.claimRow('1', { leaseSeconds: 0 })
    for (let deaths = 0; deaths < 2; deaths++) await queue.claimRow('2', { leaseSeconds: 0 })
    const worked: string[] = []
    const { runner, reports } = runnerOf(database, async ({ id }) => {
      worked.push(id)
      return 'finish'
    })
    const { models } = await runner.runOnce()
    expect(worked).toEqual(['2'])
    expect(await statuses(database)).toEqual({ lethal: 'failed', lived: 'done' })
    expect(reports).toMatchObject([
      { error: { message: 'quick 1: given up after 3 attempts without an end' }, id: '1' },
    ])
    expect(models['quick']).toMatchObject({
      claimed: 2,
      failed: 1,
      moved: { 'queued -give_up-> failed': 1, 'queued -finish-> done': 1 },
    })
  })
})

describe('a deadline', () => {
  it('stops the handler through its signal, frees its slot, and drops what it answers later', async () => {
    const database = await make()
    await add(database, 'slow', 'fast')
    const { opened, open: waitForRelease } = gate()
    const stopped: unknown[] = []
    const answered = gate()
    const { runner } = runnerOf(
      database,
      async ({ row }, { signal }) => {
        if (row.note === 'fast') return 'finish'
        signal.addEventListener('abort', () => stopped.push(signal.reason))
        await opened
        answered.open()
        return 'finish'
      },
      { deadlineMs: 50, concurrency: 1 },
    )
    const fastIsDone = async () =>
      (await database.value(`select status = 'done' from job where note = 'fast'`)) && stopped.length > 0
    const { models } = await runUntil(runner, fastIsDone)
    waitForRelease()
    await answered.opened
    expect(stopped[0]).toBeInstanceOf(DeadlineExceeded)
    expect(models['quick']).toMatchObject({ failed: stopped.length, moved: { 'queued -finish-> done': 1 } })
    expect(
      await database.query(
        `select status, claim_token from job where note = 'slow' and attempts > 0 and status <> 'done'`,
      ),
    ).toEqual([{ status: 'queued', claim_token: null }])
  })

  it("is the state's own where it names one", async () => {
    const database = await make()
    await add(database, 'row')
    const patient = defineMachine({
      ...{ name: 'patient', table: 'job', idType: 'bigint', columns, initial: 'queued' },
      states: { queued: { on: { finish: 'done' }, retryAfterMs: 20, deadlineMs: 60_000 }, done: { final: true } },
    })
    const start = performance.now()
    const work = async () => {
      // Longer than the runner's, and than two looks at the deadlines.
      await eventually(() => performance.now() > start + 600)
      return 'finish' as const
    }
    const runner = new Runner({
      sql: database.sql,
      models: [{ handlers: withHandlers(patient, { queued: work }) }],
      deadlineMs: 10,
    })
    expect((await runner.runOnce()).models['patient']).toMatchObject({
      failed: 0,
      moved: { 'queued -finish-> done': 1 },
    })
  })

  it('holds for a handler that blocked the event loop past it, too', async () => {
    const database = await make()
    await add(database, 'row')
    const { runner, reports } = runnerOf(
      database,
      (() => {
        const end = performance.now() + 60
        while (performance.now() < end);
        return 'finish'
      }) as unknown as Work,
      { deadlineMs: 30 },
    )
    await runner.runOnce()
    expect(reports).toMatchObject([{ error: { name: 'DeadlineExceeded' } }])
    expect(await statuses(database)).toEqual({ row: 'queued' })
  })
})

describe('a lease', () => {
  it('is renewed while the handler works, so that nobody else gets the row', async () => {
    const database = await make()
    await add(database, 'row')
    const schedules = new Set<number>()
    let runs = 0
    const { runner } = runnerOf(
      database,
      async ({ id }) => {
        runs += 1
        await eventually(async () => {
          schedules.add(
            await database.value<Date>('select retry_at from job where id = $1', [id]).then((at) => at.getTime()),
          )
          expect(await new Queue(quick, database.sql).claim()).toEqual([])
          return schedules.size > 3
        })
        return 'finish'
      },
      { leaseSeconds: 2, deadlineMs: 60_000 },
    )
    await runner.runOnce()
    expect(runs).toBe(1)
    expect(await statuses(database)).toEqual({ row: 'done' })
  })

  it('that is lost stops the handler, and nothing that it answers is written', async () => {
    const database = await make()
    await add(database, 'row')
    const { runner, reports } = runnerOf(
      database,
      async ({ id }, { signal }) => {
        await new Queue(quick, database.sql).send([id], 'pause')
        await eventually(() => signal.aborted)
        expect(signal.reason).toBeInstanceOf(ClaimLost)
        return 'finish'
      },
      { leaseSeconds: 0.3, deadlineMs: 60_000 },
    )
    expect((await runner.runOnce()).models['quick']).toMatchObject({ claimed: 1, lost: 1, failed: 0, moved: {} })
    expect(await statuses(database)).toEqual({ row: 'paused' })
    expect(reports).toEqual([])
  })

  it('that was lost between two renewals is noticed when the outcome is to be written', async () => {
    const database = await make()
    await add(database, 'row')
    const { runner } = runnerOf(database, async ({ id }) => {
      await new Queue(quick, database.sql).send([id], 'pause')
      return 'finish'
    })
    expect((await runner.runOnce()).models['quick']).toMatchObject({ claimed: 1, lost: 1, moved: {} })
    expect(await statuses(database)).toEqual({ row: 'paused' })
  })

  it('that cannot be renewed is not trusted: the handler is stopped before it could end', async () => {
    const database = await make()
    await add(database, 'row')
    let isAway = false
    const sql = {
      query: <Row>(...query: Parameters<typeof database.sql.query>) =>
        isAway ? Promise.reject(new Error('the database is away')) : database.sql.query<Row>(...query),
    }
    const { runner, reports } = runnerOf(
      database,
      async (_, { signal }) => {
        isAway = true
        await eventually(() => signal.aborted)
        expect(signal.reason).toMatchObject({ name: 'ClaimLost', message: 'quick 1: its lease could not be renewed' })
        isAway = false
        return 'finish'
      },
      { leaseSeconds: 1, deadlineMs: 60_000, sql },
    )
    expect((await runner.runOnce()).models['quick']).toMatchObject({ lost: 1, moved: {} })
    expect(reports.map(({ error }) => error.message)).toContain('the database is away')
    expect(await statuses(database)).toEqual({ row: 'queued' })
  })
})

describe('an outcome', () => {
  it('that the table refuses takes no other with it; its row fails, and is given up', async () => {
    const database = await make()
    await database.query(`alter table job add constraint never check (note <> 'poison' or status <> 'done')`)
    await add(database, ...Array.from({ length: 9 }, (_, index) => `row ${index}`), 'poison')
    const { runner, reports } = runnerOf(database, async () => 'finish', { concurrency: 20 })
    const { models } = await runUntil(runner, async () => (await open(database)) === 0)
    expect(models['quick']).toMatchObject({
      moved: { 'queued -finish-> done': 9, 'queued -give_up-> failed': 1 },
      failed: 3,
      lost: 0,
    })
    expect((await statuses(database))['poison']).toBe('failed')
    expect(reports).toEqual(
      [1, 2, 3].map(() => ({
        error: expect.objectContaining({ message: expect.stringContaining('never') }),
        id: '10',
      })),
    )
  })

  it('is kept while the database is away, and written when it is back: nothing is done twice', async () => {
    const database = await make()
    await add(database, 'one', 'two')
    const worked: string[] = []
    const { runner } = runnerOf(database, async ({ id }) => {
      worked.push(id)
      const others = 'pid <> pg_backend_pid() and datname = current_database()'
      if (id === '2') await database.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`)
      return 'finish'
    })
    await runUntil(runner, async () => (await open(database).catch(() => 1)) === 0)
    expect(worked).toEqual(['1', '2'])
  })

  it('is tried again when a deadlock or a lost connection stopped it', async () => {
    const database = await make()
    await add(database, 'one', 'two')
    const troubles = [
      Object.assign(new Error('deadlock detected'), { code: '40P01' }),
      new Error('Connection terminated unexpectedly'),
    ]
    const sql: Sql = {
      query: async (statement, values) => {
        const trouble = statement.name.includes(':settle') ? troubles.shift() : undefined
        if (trouble) throw trouble
        return await database.sql.query(statement, values)
      },
    }
    let worked = 0
    const work: Work = async () => {
      worked += 1
      return 'finish'
    }
    const { runner, reports } = runnerOf(database, work, { sql })
    await runUntil(runner, async () => (await open(database)) === 0)
    expect(worked).toBe(2)
    expect(reports.map(({ error }) => error.message)).toEqual([
      'deadlock detected',
      'Connection terminated unexpectedly',
    ])
  })

  it('is checked before it is written: one foreign outcome does not spoil the batch', async () => {
    const database = await make()
    await add(database, 'good', 'foreign')
    const { runner, reports } = runnerOf(database, async ({ row }) =>
      row.note === 'good' ? 'finish' : ('explode' as 'finish'),
    )
    await runner.runOnce()
    expect(await statuses(database)).toEqual({ good: 'done', foreign: 'queued' })
    expect(reports[0]?.error).toBeInstanceOf(ForeignOutcome)
  })
})

describe('housekeeping', () => {
  it('deletes old rows in the state that asks for it, and no others, many batches in a row', async () => {
    const database = await make()
    const kept = defineMachine({
      ...{ name: 'kept', table: 'job', idType: 'bigint', columns, initial: 'queued' },
      states: {
        queued: { on: { finish: 'done' }, retryAfterMs: 1_000, startAfterMs: 0 },
        done: { final: true, deleteAfterMs: 60_000 },
      },
    })
    await database.query(
      `insert into job (status, retry_at, changed_at) select 'done', null, now() - interval '61 s'
        from generate_series(1, 1100)`,
    )
    await database.query(
      `insert into job (status, retry_at, changed_at)
        values ('queued', now() + interval '1 h', now() - interval '1 y'), ('done', null, now())`,
    )
    const runner = new Runner({
      sql: database.sql,
      models: [{ handlers: withHandlers(kept, { queued: async () => {} }) }],
    })
    expect((await runner.runOnce()).models['kept']?.deleted).toBe(1100)
    expect(await database.query('select status from job order by id')).toEqual([
      { status: 'queued' },
      { status: 'done' },
    ])
  })
})
