import { describe, expect, it } from 'vitest'
import { again, defineMachine, Queue, Runner, TryAgainLater, withHandlers } from '../../../src/engine/index.ts'
import { columns } from '../../fixtures/engine/job.ts'
import { runUntil } from '../../support/engine.ts'
import { addJobs, jobStatuses, openJobs, quick, runnerOf, useQuickJobs, type Work } from '../../support/quick-jobs.ts'

const make = useQuickJobs()

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
      await addJobs(database, 'bad', 'good')
      const attempts: number[] = []
      const { runner, reports } = runnerOf(
        database,
        async (claim, context) => {
          if (claim.row.note === 'good') return 'finish'
          attempts.push(claim.attempts)
          return await work(claim, context)
        },
        // The good one has it, too, and a busy machine may let it wait.
        { deadlineMs: 'name' in error && error.name === 'DeadlineExceeded' ? 1_000 : 60_000 },
      )
      const { models } = await runUntil(runner, async () => (await openJobs(database)) === 0)
      expect(await jobStatuses(database)).toEqual({ bad: 'failed', good: 'done' })
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
    await addJobs(database, 'bad')
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
    await addJobs(database, 'row')
    let looks = 0
    const { runner, reports } = runnerOf(database, async () => {
      looks += 1
      if (looks === 7) return 'finish'
      if (looks % 2 === 0) throw new TryAgainLater(1)
      return again(1)
    })
    const { models } = await runUntil(runner, async () => (await openJobs(database)) === 0)
    expect(models['quick']).toMatchObject({ claimed: 7, again: 6, failed: 0 })
    expect(reports).toEqual([])
  })

  it('does not disturb others by a reporter that fails, too', async () => {
    const database = await make()
    await addJobs(database, 'bad', 'good')
    const work: Work = async ({ row }) => {
      if (row.note === 'bad') throw new Error('broken')
      return 'finish'
    }
    const { runner } = runnerOf(database, work, {
      onError: () => {
        throw new Error('nobody listens')
      },
    })
    await runUntil(runner, async () => (await openJobs(database)) === 0)
    expect(await jobStatuses(database)).toEqual({ bad: 'failed', good: 'done' })
  })

  it('times out all the same: the timeout fires although it fails each time', async () => {
    const database = await make()
    await addJobs(database, 'bad')
    const timed = defineMachine({
      ...{ name: 'timed', table: 'job', idType: 'bigint', columns, history: true, initial: 'queued' },
      states: {
        queued: { on: { finish: 'done' }, retryAfterMs: 10, timeout: { afterMs: 600_000, to: 'failed' } },
        done: { final: true },
        failed: { final: true },
      },
    })
    let attempts = 0
    const work = async () => {
      attempts += 1
      if (attempts === 2) await database.query(`update job set changed_at = now() - interval '1 hour'`)
      throw new Error('broken')
    }
    const runner = new Runner({
      sql: database.sql,
      models: [{ handlers: withHandlers(timed, { queued: work }) }],
      timeoutsEveryMs: 20,
      watchdog: false,
      onError: () => {},
    })
    const { models } = await runUntil(runner, async () => (await openJobs(database)) === 0)
    expect(attempts).toBeGreaterThan(1)
    expect(models['timed']?.moved).toEqual({ 'queued -timeout-> failed': 1 })
    expect(await database.query('select event from transition')).toEqual([{ event: 'timeout' }])
  })
})

describe('a row that ends its worker each time', () => {
  it('is given up without being worked on again, after as many attempts as its state allows', async () => {
    const database = await make()
    await addJobs(database, 'lethal', 'lived')
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
    expect(await jobStatuses(database)).toEqual({ lethal: 'failed', lived: 'done' })
    expect(reports).toMatchObject([
      { error: { message: 'quick 1: given up after 3 attempts that did not finish' }, id: '1' },
    ])
    expect(models['quick']).toMatchObject({
      claimed: 2,
      failed: 1,
      moved: { 'queued -give_up-> failed': 1, 'queued -finish-> done': 1 },
    })
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
