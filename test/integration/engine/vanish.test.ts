import { describe, expect, it } from 'vitest'
import { again, ClaimLost, defineMachine, FAILED, Queue, Runner, withHandlers } from '../../../src/engine/index.ts'
import { columns, JOB_TABLE, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { type TestDatabase, useDatabases } from '../../support/engine.ts'
import { eventually } from '../../support/program.ts'

const databases = useDatabases()
const make = () => databases.make(JOB_TABLE, TRANSITION_TABLE)

/** Its rows are gone as soon as they are done; those that failed stay. */
const fleeting = defineMachine({
  ...{ name: 'fleeting', table: 'job', idType: 'bigint', columns, history: true, initial: 'queued' },
  states: {
    queued: {
      on: { start: 'started', finish: 'done', cancel: 'done' },
      retryAfterMs: 1_000,
      timeout: { afterMs: 60_000, to: 'done' },
      giveUp: { after: 1, to: 'dropped' },
    },
    started: { on: { finish: 'done' }, retryAfterMs: 1_000 },
    done: { final: true, deleteAfterMs: 0 },
    dropped: { final: true, deleteAfterMs: 0 },
  },
})
const queueOf = ({ sql }: TestDatabase) => new Queue(fleeting, sql)
const add = async (database: TestDatabase, count: number, age = '0') => {
  await database.query(`insert into job (changed_at) select now() - $2::interval from generate_series(1, $1)`, [
    count,
    age,
  ])
}
const left = async (database: TestDatabase) =>
  await database.query('select id, status, claim_token is null as free from job order by id')
const history = async (database: TestDatabase) =>
  await database.query('select row_id, from_status, to_status, event from transition order by id')

describe('a final state with deleteAfterMs 0', () => {
  it('is reached by deleting the row: one by one, in a batch that takes one step, and among other outcomes; the history keeps it', async () => {
    const database = await make()
    await add(database, 5)
    const queue = queueOf(database)
    const [one, ...others] = await queue.claim({ limit: 5 })
    expect(await queue.move(one!, 'finish')).toBeUndefined()
    const outcomes = ['start', 'finish', again(), FAILED] as const
    const settled = others.map((claim, index) => ({ claim, outcome: outcomes[index] }))
    expect((await queue.settle(settled as never)).size).toBe(4)
    expect(await left(database)).toEqual([
      { id: '2', status: 'started', free: true },
      { id: '4', status: 'queued', free: true },
    ])

    await database.query('update job set retry_at = now()')
    await add(database, 2)
    const alike = await queue.claim({ limit: 9 })
    const finished = await queue.settle(
      alike.filter(({ state }) => state === 'queued').map((claim) => ({ claim, outcome: 'finish' })),
    )
    expect(finished).toEqual(new Set(['4', '6', '7']))
    expect(await left(database)).toEqual([{ id: '2', status: 'started', free: false }])
    const gone = (row_id: string, event: string, to_status = 'done') => ({
      row_id,
      from_status: 'queued',
      to_status,
      event,
    })
    const lines = await history(database)
    expect(lines[0]).toEqual(gone('1', 'finish'))
    expect(lines.slice(1, 4)).toEqual(
      expect.arrayContaining([gone('2', 'start', 'started'), gone('3', 'finish'), gone('5', 'give_up', 'dropped')]),
    )
    expect(lines.slice(4)).toEqual(
      expect.arrayContaining([gone('4', 'finish'), gone('6', 'finish'), gone('7', 'finish')]),
    )
    expect(lines).toHaveLength(7)
  })

  it('is not reached by whoever has lost the claim: nothing is deleted, nothing is told', async () => {
    const database = await make()
    await add(database, 3)
    const queue = queueOf(database)
    const [lost, kept, other] = await queue.claim({ limit: 3 })
    await database.query('update job set claim_token = gen_random_uuid() where id = 1')
    await expect(queue.move(lost!, 'finish')).rejects.toThrow(ClaimLost)
    expect(await queue.settle([lost!, kept!].map((claim) => ({ claim, outcome: 'finish' })))).toEqual(new Set(['2']))
    const mixed = [
      { claim: lost!, outcome: 'finish' },
      { claim: other!, outcome: again() },
    ] as const
    expect(await queue.settle(mixed)).toEqual(new Set(['3']))
    expect(await left(database)).toEqual([
      { id: '1', status: 'queued', free: false },
      { id: '3', status: 'queued', free: true },
    ])
    expect((await history(database)).map(({ row_id }) => row_id)).toEqual(['2'])
  })

  it('that is entered from outside, or by a timeout, is emptied by the next deletion, and no other state is', async () => {
    const database = await make()
    await add(database, 2)
    await add(database, 1, '61 s')
    const queue = queueOf(database)
    await queue.send(['1'], 'cancel')
    expect(await queue.expire()).toBe(1)
    expect((await left(database)).map(({ status }) => status)).toEqual(['done', 'queued', 'done'])
    expect(await queue.deleteOld(1)).toBe(1)
    expect(await queue.deleteOld(1)).toBe(1)
    expect(await left(database)).toEqual([{ id: '2', status: 'queued', free: true }])
  })

  it('leaves nothing behind when a runner works a queue off', async () => {
    const database = await make()
    await add(database, 250)
    const seen = new Set<string>()
    const handlers = withHandlers(fleeting, {
      queued: async ({ id }) => {
        seen.add(id)
        return Number(id) % 2 === 0 ? 'start' : 'finish'
      },
      started: async () => 'finish',
    })
    const stop = new AbortController()
    const running = new Runner({ sql: database.sql, models: [{ handlers }], concurrency: 200, watchdog: false }).run({
      signal: stop.signal,
    })
    await eventually(async () => (await database.value('select count(*)::int from job')) === 0)
    stop.abort()
    expect((await running).models['fleeting']).toMatchObject({
      ...{ claimed: 375, failed: 0, lost: 0 },
      moved: { 'queued -start-> started': 125, 'queued -finish-> done': 125, 'started -finish-> done': 125 },
    })
    expect(seen.size).toBe(250)
  })
})

describe('the row of a claim', () => {
  it('is read as far as it is asked for: id, state and attempts always', async () => {
    const database = await make()
    await database.query(`insert into job (note) values ('read me')`)
    const narrow = new Queue(fleeting, database.sql, { columns: ['note'] })
    const row = { id: '1', status: 'queued', attempts: 1, note: 'read me' }
    expect((await narrow.claim())[0]).toMatchObject({ id: '1', state: 'queued', attempts: 1, row })
    await database.query('update job set retry_at = now()')
    expect((await narrow.claimRow('1'))!.row).toEqual({ ...row, attempts: 2 })
    await database.query('update job set retry_at = now()')
    expect(await narrow.pick(5)).toMatchObject({ attempts: 3, row: { note: 'read me' } })
    await database.query('update job set retry_at = now()')
    expect(Object.keys((await queueOf(database).claimRow('1'))!.row)).toContain('done_by')
  })
})
