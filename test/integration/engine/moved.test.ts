import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { born, defineMachine, GraphError, moved, movedEach, Queue, woken } from '../../../src/engine/index.ts'
import { JOB_TABLE, job, queueOf, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { type TestDatabase, useDatabases } from '../../support/engine.ts'

const databases = useDatabases()

/** Steps of a job, which whoever holds the job moves. */
const step = defineMachine({
  name: 'step',
  table: 'step',
  idType: 'bigint',
  heldBy: 'job',
  history: true,
  initial: 'open',
  states: {
    open: { on: { take: 'taken', drop: 'dropped' }, entering: { begun: 'null', ended: 'null' } },
    taken: { on: { take: 'taken', end: 'ended', drop: 'dropped' }, entering: { begun: 'coalesce(work.begun, now())' } },
    ended: { final: true, reopen: { again: 'open' }, entering: { ended: 'now()' } },
    dropped: { final: true, entering: { ended: 'now()' } },
  },
})
const STEP_TABLE = `
  create table step (
    id bigint generated always as identity primary key,
    job_id bigint,
    status text not null default 'open',
    begun timestamptz,
    ended timestamptz,
    note text
  )`

const make = async () => await databases.make(JOB_TABLE, STEP_TABLE, TRANSITION_TABLE)
const NOBODY = { by: 'null' } as const
const history = async (database: TestDatabase) =>
  (
    await database.query<{ line: string }>(
      `select model || ' ' || row_id || ': ' || from_status || ' -' || event || '-> ' || to_status as line
       from transition order by id`,
    )
  ).map(({ line }) => line)
const add = async (database: TestDatabase, table: string, ...states: string[]) =>
  await database.query(
    `insert into ${table} (status${table === 'job' ? ', retry_at' : ''})
     select * from unnest($1::text[]) as s${table === 'job' ? `, (values (timestamptz '2199-01-01')) as v` : ''}`,
    [states],
  )
const statusOf = async (database: TestDatabase, table: string) =>
  (await database.query<{ status: string }>(`select status from ${table} order by id`)).map(({ status }) => status)

describe('a part of a statement that moves rows', () => {
  it('takes those in the states that it names, sets what its caller says, and writes their history', async () => {
    const database = await make()
    await add(database, 'job', 'queued', 'started', 'paused', 'done')
    const parts = moved(job, {
      ...{ as: 'held', rows: '$1::bigint[]', from: ['queued', 'started'], event: 'pause', by: '$2' },
      set: { note: `'because of ' || work.id` },
      returning: 'work.note',
    })
    const by = randomUUID()
    const rows = await database.query(
      `with ${parts.join('')} select held.note, by = $2::uuid as mine from held order by id`,
      [[1, 2, 3, 4], by],
    )
    expect(rows).toEqual([1, 2].map((id) => ({ note: `because of ${id}`, mine: true })))
    expect(await statusOf(database, 'job')).toEqual(['paused', 'paused', 'paused', 'done'])
    const far = `select array_agg(retry_at = '9999-01-01Z' order by id)::text from job where id < 3`
    expect(await database.value(far)).toBe('{t,t}')
    expect(await history(database)).toEqual(['job 1: queued -pause-> paused', 'job 2: started -pause-> paused'])
  })

  it('moves a row under its claim, which goes on, and none under another', async () => {
    const database = await make()
    await database.query('insert into job default values')
    const claim = await queueOf(database).claimRow('1')
    const start = async (token: string) => {
      const parts = moved(job, {
        ...{ as: 'begun', rows: 'array[1::bigint]', from: ['queued'], event: 'start', token: '$1::uuid' },
        ...NOBODY,
      })
      return await database.query(`with ${parts.join('')} select id from begun`, [token])
    }
    expect(await start(randomUUID())).toEqual([])
    expect(await start(claim!.token)).toHaveLength(1)
    expect(await database.query('select status, claim_token from job')) //
      .toEqual([{ status: 'started', claim_token: claim!.token }])
    expect(await history(database)).toEqual(['job 1: queued -start-> started'])
  })

  it('waits for whoever changes a row, and takes it from the state in which it is then', async () => {
    const database = await make()
    await database.query('insert into job default values')
    const other = await database.pool.connect()
    await other.query('begin')
    await other.query(`update job set status = 'started'`)
    const parts = moved(job, {
      ...{ as: 'held', rows: 'array[1::bigint]', from: ['queued', 'started'], event: 'pause' },
      ...NOBODY,
    })
    const pausing = database.query(`with ${parts.join('')} select from_status from held`)
    await new Promise((resolve) => setTimeout(resolve, 100))
    await other.query('commit')
    other.release()
    expect(await pausing).toEqual([{ from_status: 'started' }])
    expect(await statusOf(database, 'job')).toEqual(['paused'])
    expect(await history(database)).toEqual(['job 1: started -pause-> paused'])
  })

  it('moves each along its own event, as its holder, and writes what follows from its state', async () => {
    const database = await make()
    await add(database, 'step', 'open', 'taken', 'taken', 'dropped', 'open')
    const events = `told (id, event) as (values (1::bigint, 'take'), (2, 'end'), (3, 'take'), (4, 'take'), (5, 'end'))`
    const move = async (holder: string) =>
      await database.query(
        `with ${holder}, ${events}, ${movedEach(step, {
          ...{ as: 'stepped', changes: 'told', holder: 'mine', set: { note: 'change.event' } },
          ...NOBODY,
        }).join('')} select id from stepped`,
      )
    expect(await move('mine as (select where false)')).toEqual([])
    expect(await move('mine as (select)')).toHaveLength(3)
    expect(
      await database.query(
        'select status, begun is not null as begun, ended is not null as ended, note from step order by id',
      ),
    ).toEqual([
      { status: 'taken', begun: true, ended: false, note: 'take' },
      { status: 'ended', begun: false, ended: true, note: 'end' },
      { status: 'taken', begun: true, ended: false, note: 'take' },
      { status: 'dropped', begun: false, ended: false, note: null },
      { status: 'open', begun: false, ended: false, note: null },
    ])
    expect(await history(database), 'one that is taken again has moved nowhere').toEqual([
      'step 1: open -take-> taken',
      'step 2: taken -end-> ended',
    ])
  })

  it('begins a life anew where its graph lets it', async () => {
    const database = await make()
    await add(database, 'step', 'ended', 'dropped')
    const again = moved(step, { as: 'anew', rows: 'array[1::bigint, 2]', from: ['ended'], event: 'again', ...NOBODY })
    await database.query(`with ${again.join('')} select from anew`)
    expect(await statusOf(database, 'step')).toEqual(['open', 'dropped'])
    expect(await history(database)).toEqual(['step 1: ended -again-> open'])
  })

  it('adds rows that begin later in life, some with the event that brought them there', async () => {
    const database = await make()
    const parts = born(step, {
      ...{ as: 'fresh', columns: { job_id: '7', note: 'name' }, source: `(values ('a'), ('b')) as made (name)` },
      ...{ state: 'taken', when: `name = 'b'`, event: { name: 'take', by: 'null' } },
    })
    await database.query(`with ${parts.join('')} select from fresh`)
    const done = born(job, { as: 'made', columns: { note: `'old'` }, source: '', state: 'done' })
    await database.query(`with ${done.join('')} select from made`)
    expect(await statusOf(database, 'step')).toEqual(['open', 'taken'])
    expect(await database.query('select status, retry_at, note from job')) //
      .toEqual([{ status: 'done', retry_at: null, note: 'old' }])
    expect(await history(database)).toEqual(['step 2: open -take-> taken'])
  })

  it('makes rows due that wait and that nobody has', async () => {
    const database = await make()
    await add(database, 'job', 'queued', 'queued', 'started', 'paused')
    await database.query('update job set claim_token = $1 where id = 2', [randomUUID()])
    const parts = woken(job, { as: 'woken', rows: 'array(select id from job)', states: ['queued'] })
    expect(await database.query(`with ${parts.join('')} select id::text from woken`)).toEqual([{ id: '1' }])
    expect(await queueOf(database).claim({ limit: 9 })).toMatchObject([{ id: '1' }])
  })
})

it('nothing is written for an event that a state does not offer', () => {
  const untyped = moved as (machine: typeof job, move: object) => string[]
  const move = { as: 'odd', rows: '$1', from: ['queued', 'paused'], event: 'start', by: 'null' }
  expect(() => untyped(job, move)).toThrow('state graph "job": state "paused" does not offer the event "start"')
  const sealing = { ...move, from: ['queued'], event: 'finish', token: '$2' }
  expect(() => untyped(job, sealing)).toThrow('state graph "job": no claim goes on in the state "done"')
})

it('rows that are held by others are not claimed by anybody', async () => {
  const database = await make()
  expect(() => new Queue(step, database.sql)).toThrow(GraphError)
  expect(() => new Queue(step, database.sql)).toThrow('its rows are held by job, not claimed')
})
