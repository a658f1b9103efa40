import { expect, it } from 'vitest'
import { again, defineMachine, Queue } from '../../../src/engine/index.ts'
import { addJobs, columns, JOB_TABLE, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { type TestDatabase, useDatabases } from '../../support/engine.ts'

const databases = useDatabases()

/** Every way in which a row leaves a state. */
const machine = defineMachine({
  name: 'job',
  table: 'job',
  idType: 'bigint',
  columns: { ...columns, movedBy: 'moved_by' },
  history: true,
  initial: 'queued',
  states: {
    queued: { on: { start: 'started', finish: 'done', pause: 'paused' }, retryAfterMs: 1_000 },
    started: { on: { finish: 'done' }, retryAfterMs: 1_000, timeout: { afterMs: 0, to: 'done' } },
    paused: { on: { resume: 'queued' }, external: true },
    done: { final: true },
  },
})

const made = async () => {
  const database = await databases.make(JOB_TABLE, TRANSITION_TABLE, 'alter table job add column moved_by uuid')
  return { database, queue: new Queue(machine, database.sql) }
}
const movedBy = async (database: TestDatabase, id: string) =>
  await database.value<string | null>('select moved_by from job where id = $1', [id])

it('a row says under which claim it took its last step, whichever statement wrote that', async () => {
  const { database, queue } = await made()
  const ids = await addJobs(database, 4)
  const [kept, alike, one, other] = await Promise.all(ids.map(async (id) => (await queue.claimRow(id))!))
  const inQueue = (claim: typeof kept) => claim as typeof claim & { state: 'queued' }

  const started = await queue.move(inQueue(kept!), 'start')
  expect(await movedBy(database, kept!.id)).toBe(kept!.token)
  await queue.settle([{ claim: started, outcome: again() }])
  await queue.settle([{ claim: alike!, outcome: 'finish' }])
  expect(await movedBy(database, alike!.id)).toBe(alike!.token)
  await queue.settle([
    { claim: one!, outcome: 'finish' },
    { claim: other!, outcome: again() },
  ])
  expect(await movedBy(database, one!.id)).toBe(one!.token)
  expect(await movedBy(database, other!.id)).toBe(other!.token)
})

it('a row that was moved without a claim names none', async () => {
  const { database, queue } = await made()
  const ids = await addJobs(database, 2)
  const [held, late] = await Promise.all(ids.map(async (id) => (await queue.claimRow(id))!))
  await queue.settle([{ claim: held!, outcome: again() }])
  await queue.send([held!.id], 'pause')
  expect(await movedBy(database, held!.id)).toBeNull()
  const started = await queue.move(late as typeof late & { state: 'queued' }, 'start')
  await queue.release(started!)
  expect(await movedBy(database, late!.id)).toBe(late!.token)
  expect(await queue.expire()).toBe(1)
  expect(await movedBy(database, late!.id)).toBeNull()
})
