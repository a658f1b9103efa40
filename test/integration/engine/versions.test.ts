import { describe, expect, it } from 'vitest'
import { defineMachine, Queue } from '../../../src/engine/index.ts'
import { addJobs, columns, JOB_TABLE, job, queueOf, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { useDatabases } from '../../support/engine.ts'

const databases = useDatabases()
const make = () => databases.make(JOB_TABLE, TRANSITION_TABLE)

describe('two programs with different graphs on one table', () => {
  const before = job
  const after = defineMachine({
    name: 'job',
    table: 'job',
    idType: 'bigint',
    columns,
    initial: 'queued',
    states: {
      queued: { on: { check: 'checking' }, retryAfterMs: 1_000 },
      checking: { on: { finish: 'done' }, retryAfterMs: 1_000 },
      done: { final: true },
    },
  })

  it('each leaves alone what it does not know, says so, and loses nothing', async () => {
    const database = await make()
    await addJobs(database, 2)
    const [older, newer] = [queueOf(database), new Queue(after, database.sql)]
    const [one] = await newer.claim()
    if (one?.state !== 'queued') throw new Error('not claimed, or in another state')
    expect(await newer.settle([{ claim: one, outcome: 'check' }])).toEqual(new Set(['1']))
    const [two] = await older.claim({ limit: 5 })
    if (two?.state !== 'queued') throw new Error('not claimed, or in another state')
    expect(await older.settle([{ claim: two, outcome: 'start' }])).toEqual(new Set(['2']))
    expect(await older.unknown()).toEqual({ checking: 1 })
    expect(await newer.unknown()).toEqual({ started: 1 })
    expect(await older.claim({ limit: 5 })).toMatchObject([{ id: '2', state: 'started' }])
    expect(await newer.claim({ limit: 5 })).toMatchObject([{ id: '1', state: 'checking' }])
  })

  it('a claim made under the old graph is not written over what the new one did', async () => {
    const database = await make()
    await addJobs(database, 1)
    const [claim] = await queueOf(database).claim()
    await database.query(`update job set status = 'checking'`)
    expect(await queueOf(database).settle([{ claim: claim!, outcome: 'finish' }])).toEqual(new Set())
    expect(await database.value('select status from job')).toBe('checking')
  })

  it('rows in a state that nobody knows any more wait until somebody knows it again', async () => {
    const database = await make()
    await addJobs(database, 3)
    await database.query(`update job set status = 'ghost' where id < 3`)
    expect(await queueOf(database).claim({ limit: 5 })).toHaveLength(1)
    expect(await queueOf(database).unknown()).toEqual({ ghost: 2 })
    expect(await new Queue(before, database.sql).unknown()).toEqual({ ghost: 2 })
    await database.query(`update job set status = 'queued' where status = 'ghost'`)
    expect(await queueOf(database).claim({ limit: 5 })).toHaveLength(2)
  })
})
