import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import {
  Actor,
  type ActorOptions,
  type Claimed,
  ClaimLost,
  type Context,
  Ended,
  Queue,
  withHandlers,
} from '../../../src/engine/index.ts'
import { JOB_TABLE, type Job, job, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { type TestDatabase, useDatabases } from '../../support/engine.ts'

const databases = useDatabases()
const machine = { ...job, columns: { ...job.columns, movedBy: 'moved_by' } }
type JobQueue = Queue<typeof job, Job>
type Started = Claimed<typeof job, 'started', Job>

/** Three rows that are due. */
async function make() {
  const database = await databases.make(JOB_TABLE, TRANSITION_TABLE)
  await database.query('alter table job add column moved_by uuid')
  await database.query(`insert into job (status) select 'started' from generate_series(1, 3)`)
  return database
}

/** An actor that ends each claim together with the claim of the next row. */
function actorOf(database: TestDatabase, queue: JobQueue, during: (claim: Started, context: Context) => unknown) {
  const started = async (claim: Started, context: Context) => {
    await during(claim, context)
    return new Ended(await queue.moveAndClaim(claim, 'finish', context.next?.()))
  }
  const handlers = withHandlers<typeof job, Job>(job, { queued: async () => 'start', started: started as never })
  const options: ActorOptions<typeof job, Job> = { sql: database.sql, handlers, queue, claimFromTopN: 1 }
  return new Actor<typeof job, Job>({ ...options, waitForHandlers: true, idleMs: 10, maxIdleTicks: 0 })
}

const states = (database: TestDatabase) =>
  database.query('select status, attempts, claim_token is not null as claimed from job order by id')
const DONE = { status: 'done', attempts: 0, claimed: false }
const DUE = { status: 'started', attempts: 0, claimed: false }

it('an actor claims the next row with the end of the one before, and that claim is on disk', async () => {
  const database = await make()
  const sent: string[] = []
  const sql = {
    query: async <R>(...query: Parameters<typeof database.sql.query>) => {
      sent.push(query[0].name.split(':').at(-1)!)
      return await database.sql.query<R>(...query)
    },
  }
  const queue = new Queue<typeof job, Job>(machine, sql, { owner: randomUUID() })
  const seen: [boolean, number][] = []
  await actorOf(database, queue, ({ isOnDisk, attempts }) => seen.push([isOnDisk, attempts])).run()
  expect(seen).toEqual([
    [false, 1],
    [true, 1],
    [true, 1],
  ])
  expect(sent.slice(0, 4)).toEqual(['claim 1', ...Array(3).fill('settle and claim')])
  expect(await states(database)).toEqual([DONE, DONE, DONE])
})

it('an actor that is to stop claims nothing more, or puts back what it has claimed', async () => {
  const database = await make()
  const stop = new AbortController()
  const queue = new Queue<typeof job, Job>(machine, database.sql, { owner: randomUUID() })
  await actorOf(database, queue, () => stop.abort()).run({ signal: stop.signal })
  expect(await states(database)).toEqual([DONE, DUE, DUE])

  const late = new AbortController()
  const actor = actorOf(database, queue, (_, context) => {
    const { next } = context
    context.next = () => {
      const options = next!.call(context)
      late.abort()
      return options
    }
  })
  await actor.run({ signal: late.signal })
  expect(await states(database)).toEqual([DONE, DONE, DUE])
})

it('an end that is refused claims nothing, and one whose answer was lost is made once', async () => {
  const database = await make()
  let losses = 1
  const sql = {
    query: async <R>(...query: Parameters<typeof database.sql.query>) => {
      const rows = await database.sql.query<R>(...query)
      if (query[0].name.includes('settle and claim') && losses-- > 0) throw new Error('lost')
      return rows
    },
  }
  const retry = <T>(work: (isAgain: boolean) => Promise<T>) =>
    work(false).catch((error: Error) => (error.message === 'lost' ? work(true) : Promise.reject(error)))
  const queue = new Queue<typeof job, Job>(machine, sql, { owner: randomUUID(), retry })
  const claim = (await queue.next()) as Started
  expect(await queue.moveAndClaim(claim, 'finish', {})).toBeUndefined()
  expect(await states(database)).toEqual([DONE, DUE, DUE])
  await expect(queue.moveAndClaim(claim, 'finish', {})).rejects.toThrow(ClaimLost)
  expect(await states(database)).toEqual([DONE, DUE, DUE])
  expect(await database.query('select event from transition')).toEqual([{ event: 'finish' }])
})
