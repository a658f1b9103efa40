import { describe, expect, it } from 'vitest'
import {
  ClaimLost,
  DeadlineExceeded,
  defineMachine,
  ForeignOutcome,
  Queue,
  Runner,
  type Sql,
  withHandlers,
} from '../../../src/engine/index.ts'
import { columns } from '../../fixtures/engine/job.ts'
import { gate, runUntil } from '../../support/engine.ts'
import { eventually } from '../../support/program.ts'
import { addJobs, jobStatuses, openJobs, quick, runnerOf, useQuickJobs, type Work } from '../../support/quick-jobs.ts'

const make = useQuickJobs()

describe('a deadline', () => {
  it('stops the handler through its signal, frees its slot, and drops what it answers later', async () => {
    const database = await make()
    await addJobs(database, 'slow', 'fast')
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
      // The fast one has it, too, and a busy machine may let it wait.
      { deadlineMs: 2_000, concurrency: 1 },
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
    await addJobs(database, 'row')
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
    await addJobs(database, 'row')
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
    expect(await jobStatuses(database)).toEqual({ row: 'queued' })
  })
})

describe('a lease', () => {
  it('is renewed while the handler works, so that nobody else gets the row', async () => {
    const database = await make()
    await addJobs(database, 'row')
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
      { leaseSeconds: 6, deadlineMs: 60_000 },
    )
    await runner.runOnce()
    expect(runs).toBe(1)
    expect(await jobStatuses(database)).toEqual({ row: 'done' })
  })

  it('that is lost stops the handler, and nothing that it answers is written', async () => {
    const database = await make()
    await addJobs(database, 'row')
    const { runner, reports } = runnerOf(
      database,
      async ({ id }, { signal }) => {
        await new Queue(quick, database.sql).send([id], 'pause')
        await eventually(() => signal.aborted)
        expect(signal.reason).toBeInstanceOf(ClaimLost)
        return 'finish'
      },
      { leaseSeconds: 3, deadlineMs: 60_000 },
    )
    expect((await runner.runOnce()).models['quick']).toMatchObject({ claimed: 1, lost: 1, failed: 0, moved: {} })
    expect(await jobStatuses(database)).toEqual({ row: 'paused' })
    expect(reports).toEqual([])
  })

  it('that was lost between two renewals is noticed when the outcome is to be written', async () => {
    const database = await make()
    await addJobs(database, 'row')
    const { runner } = runnerOf(database, async ({ id }) => {
      await new Queue(quick, database.sql).send([id], 'pause')
      return 'finish'
    })
    expect((await runner.runOnce()).models['quick']).toMatchObject({ claimed: 1, lost: 1, moved: {} })
    expect(await jobStatuses(database)).toEqual({ row: 'paused' })
  })

  it('that cannot be renewed is not trusted: the handler is stopped before it could end', async () => {
    const database = await make()
    await addJobs(database, 'row')
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
      { leaseSeconds: 3, deadlineMs: 60_000, sql },
    )
    expect((await runner.runOnce()).models['quick']).toMatchObject({ lost: 1, moved: {} })
    expect(reports.map(({ error }) => error.message)).toContain('the database is away')
    expect(await jobStatuses(database)).toEqual({ row: 'queued' })
  })
})

describe('an outcome', () => {
  it('that the table refuses takes no other with it; its row fails, and is given up', async () => {
    const database = await make()
    await database.query(`alter table job add constraint never check (note <> 'poison' or status <> 'done')`)
    await addJobs(database, ...Array.from({ length: 9 }, (_, index) => `row ${index}`), 'poison')
    const { runner, reports } = runnerOf(database, async () => 'finish', { concurrency: 20 })
    const { models } = await runUntil(runner, async () => (await openJobs(database)) === 0)
    expect(models['quick']).toMatchObject({
      moved: { 'queued -finish-> done': 9, 'queued -give_up-> failed': 1 },
      failed: 3,
      lost: 0,
    })
    expect((await jobStatuses(database))['poison']).toBe('failed')
    expect(reports).toEqual(
      [1, 2, 3].map(() => ({
        error: expect.objectContaining({ message: expect.stringContaining('never') }),
        id: '10',
      })),
    )
  })

  it('is kept while the database is away, and written when it is back: nothing is done twice', async () => {
    const database = await make()
    await addJobs(database, 'one', 'two')
    const worked: string[] = []
    const { runner } = runnerOf(database, async ({ id }) => {
      worked.push(id)
      const others = 'pid <> pg_backend_pid() and datname = current_database()'
      if (id === '2') await database.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`)
      return 'finish'
    })
    await runUntil(runner, async () => (await openJobs(database).catch(() => 1)) === 0)
    expect(worked).toEqual(['1', '2'])
  })

  it('is tried again when a deadlock or a lost connection stopped it', async () => {
    const database = await make()
    await addJobs(database, 'one', 'two')
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
    await runUntil(runner, async () => (await openJobs(database)) === 0)
    expect(worked).toBe(2)
    expect(reports.map(({ error }) => error.message)).toEqual([
      'deadlock detected',
      'Connection terminated unexpectedly',
    ])
  })

  it('is checked before it is written: one foreign outcome does not spoil the batch', async () => {
    const database = await make()
    await addJobs(database, 'good', 'foreign')
    const { runner, reports } = runnerOf(database, async ({ row }) =>
      row.note === 'good' ? 'finish' : ('explode' as 'finish'),
    )
    await runner.runOnce()
    expect(await jobStatuses(database)).toEqual({ good: 'done', foreign: 'queued' })
    expect(reports[0]?.error).toBeInstanceOf(ForeignOutcome)
  })
})
