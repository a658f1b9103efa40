import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Queue, Runner, withHandlers } from '../../../src/engine/index.ts'
import { JOB_TABLE, job, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { runUntil, type TestDatabase, useDatabases } from '../../support/engine.ts'
import { type Finished, NODE, ROOT, Running } from '../../support/program.ts'

const databases = useDatabases()
const make = () => databases.make(JOB_TABLE, TRANSITION_TABLE, 'create table effect (row_id bigint)')
const script = join(ROOT, 'test', 'fixtures', 'engine', 'crash-runner.ts')
const runAndDie = async (database: TestDatabase, ...args: string[]): Promise<Finished> =>
  await new Running(spawn(NODE, [script, database.url, ...args]), args).finished()

const finishTheRest = async (database: TestDatabase) => {
  const work = async ({ id }: { readonly id: string }) => {
    await database.query('insert into effect values ($1)', [id])
    return 'finish' as const
  }
  const runner = new Runner({
    sql: database.sql,
    models: [{ handlers: withHandlers(job, { queued: work, started: work }) }],
    watchdog: false,
  })
  await runUntil(
    runner,
    async () => (await database.value(`select count(*)::int from job where status <> 'done'`)) === 0,
  )
}
const effects = async (database: TestDatabase) =>
  (await database.query('select count(*)::int as times from effect group by row_id order by row_id')).map(
    ({ times }) => times,
  )

describe('a runner that is killed between two statements', () => {
  it.each([
    ['claimed', { least: 1, most: 1 }],
    ['handled', { least: 1, most: 2 }], // The first outcome is on its way; the other handlers may have ended, too.
    ['sent', { least: 1, most: 2 }],
    ['settled', { least: 1, most: 2 }],
  ])('(%s) loses no row, and no outcome is written twice', async (step, { least, most }) => {
    const database = await make()
    await database.query('insert into job (note) values (null), (null), (null)')
    const owner = randomUUID()
    expect(await runAndDie(database, owner, step)).toMatchObject({ signal: 'SIGKILL', stderr: '' })
    await new Queue(job, database.sql).requeueClaimsOf([owner])
    await finishTheRest(database)
    expect(await database.query('select row_id from transition where event = $1 order by row_id', ['finish'])).toEqual(
      ['1', '2', '3'].map((row_id) => ({ row_id })),
    )
    const ran = await effects(database)
    expect(ran).toHaveLength(3)
    for (const times of ran) {
      expect(times).toBeGreaterThanOrEqual(least)
      expect(times).toBeLessThanOrEqual(most)
    }
    if (step === 'handled') expect(ran).toContain(2)
    if (step === 'settled') expect(ran).toContain(1)
  })

  it('is replaced without anybody having seen it die, when its lease ends', async () => {
    const database = await make()
    await database.query('insert into job (note) values (null)')
    await runAndDie(database, randomUUID(), 'in the handler', '3')
    await finishTheRest(database)
    expect(await effects(database)).toEqual([2])
  })

  it('by one and the same row each time: the row ends failed, and the others are done', async () => {
    const database = await make()
    await database.query('insert into job (note) values (null)')
    const ends: (NodeJS.Signals | null)[] = []
    do {
      const owner = randomUUID()
      ends.push((await runAndDie(database, owner, 'in the handler')).signal)
      await new Queue(job, database.sql).requeueClaimsOf([owner])
    } while (ends.at(-1) !== null && ends.length < 10)
    expect(ends).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL', null])
    expect(await database.query('select status, retry_at, claim_token from job')).toEqual([
      { status: 'failed', retry_at: null, claim_token: null },
    ])
    expect(await effects(database)).toEqual([3])
    expect(await database.query('select event from transition')).toEqual([{ event: 'give_up' }])
  })
})
