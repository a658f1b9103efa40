import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { again, ClaimLost, defineMachine, pgSql, Queue, RETRY_AT_MAX } from '../../../src/engine/index.ts'
import { addJobs, JOB_TABLE, type Job, type job, queueOf, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { useDatabases } from '../../support/engine.ts'

const databases = useDatabases()
const make = () => databases.make(JOB_TABLE, TRANSITION_TABLE)

describe('leases', () => {
  it('are renewed while they are ours, and known to be lost when they are not', async () => {
    const database = await make()
    const [kept, stolen, paused] = await addJobs(database, 3)
    const queue = queueOf(database)
    const claims = await queue.claim({ limit: 3, leaseSeconds: 1 })
    await database.query('update job set claim_token = $2 where id = $1', [stolen, randomUUID()])
    await queue.send([paused!], 'pause')
    expect(await queue.renew(claims, 600)).toEqual(new Set([kept]))
    expect(await database.value(`select retry_at > now() + interval '9 min' from job where id = $1`, [kept])).toBe(true)
    const lost = claims.filter(({ id }) => id !== kept)
    expect(await queue.settle(claims.map((claim) => ({ claim, outcome: again() })))).toEqual(new Set([kept]))
    for (const claim of lost) {
      expect(await queue.release(claim)).toBe(false)
      if (claim.state === 'queued')
        await expect(queue.move(claim, 'start')).rejects.toThrow(`job ${claim.id}: queued -start-> started`)
    }
  })

  it('that ran out are claimed again, with the attempt counted and the earlier owner named', async () => {
    const database = await make()
    await addJobs(database, 1)
    const queue = queueOf(database)
    const [first, second] = [randomUUID(), randomUUID()]
    await queue.claim({ owner: first, leaseSeconds: 0 })
    const [claim] = await queue.claim({ owner: second })
    expect(claim).toMatchObject({ attempts: 2, expiredOwner: first, row: { claimed_by: second } })
  })

  it('of dead owners end at once; those of the living stay', async () => {
    const database = await make()
    await addJobs(database, 5)
    const queue = queueOf(database)
    const [dead, alive] = [randomUUID(), randomUUID()]
    const lost = await queue.claim({ owner: dead, limit: 2 })
    const kept = await queue.claim({ owner: alive, limit: 2 })
    expect(await queue.requeueClaimsOf([dead])).toBe(2)
    expect(await queue.requeueClaimsOf([dead])).toBe(0)
    expect((await queue.claim({ owner: alive, limit: 9 })).map(({ id }) => id).sort()).toEqual(
      [...lost.map(({ id }) => id), '5'].sort(),
    )
    expect((await queue.renew(kept)).size).toBe(2)
    expect(await queue.settle(lost.map((claim) => ({ claim, outcome: 'finish' })))).toEqual(new Set())
  })

  it('of dead owners count as attempts, unless they did not die of their work', async () => {
    const database = await make()
    await addJobs(database, 1)
    const queue = queueOf(database)
    const attempts = async () => await database.value<number>('select attempts from job')
    for (const [blame, counted] of [
      [undefined, 1],
      [false, 1],
      [true, 2],
      [false, 2],
    ] as const) {
      const owner = randomUUID()
      await queue.claim({ owner })
      expect(await queue.requeueClaimsOf([owner], blame)).toBe(1)
      expect(await attempts()).toBe(counted)
    }
  })

  it('of dead owners are known by their tokens where the table names no owner', async () => {
    const database = await make()
    await addJobs(database, 2)
    const bare = new Queue(
      defineMachine({
        name: 'bare',
        table: 'job',
        idType: 'bigint',
        initial: 'queued',
        states: { queued: { on: { finish: 'done' } }, done: { final: true } },
      }),
      database.sql,
    )
    const token = randomUUID()
    expect(await bare.claim({ token })).toMatchObject([{ id: '1', token, attempts: 1 }])
    await bare.claim()
    expect(await bare.requeueClaimsOf([token], false)).toBe(1)
    expect(await bare.claim({ limit: 5 })).toMatchObject([{ id: '1' }])
  })
})

describe('a claimed row', () => {
  it('is given back without blame, or with the attempt counted', async () => {
    const database = await make()
    await addJobs(database, 1)
    const queue = queueOf(database)
    const claim = async () => (await queue.claim())[0]!
    const attempts = async () => await database.value<number>('select attempts from job')
    expect(await queue.release(await claim())).toBe(true)
    expect(await attempts()).toBe(0)
    expect(await queue.release(await claim(), 0, true)).toBe(true)
    expect(await attempts()).toBe(1)
    expect(await claim()).toMatchObject({ attempts: 2 })
  })

  it('moves along one edge, and the claim goes on where rows are claimed; elsewhere it ends', async () => {
    const database = await make()
    await addJobs(database, 2)
    const queue = queueOf(database)
    const [first, second] = await queue.claim({ limit: 2, owner: randomUUID() })
    if (first?.state !== 'queued' || second?.state !== 'queued') throw new Error('claimed in another state')
    const started = await queue.move(first, 'start')
    expect(started).toMatchObject({ id: first.id, state: 'started', token: first.token })
    expect(await queue.move(started, 'finish')).toBeUndefined()
    expect(await queue.move(second, 'pause')).toBeUndefined()
    expect(await database.query('select status, retry_at, claim_token, claimed_by from job order by id')).toEqual([
      { status: 'done', retry_at: null, claim_token: null, claimed_by: null },
      { status: 'paused', retry_at: RETRY_AT_MAX, claim_token: null, claimed_by: null },
    ])
  })

  it('is written with the step that it takes, or not at all', async () => {
    const database = await make()
    await addJobs(database, 1)
    const queue = queueOf(database)
    const [claim] = await queue.claim()
    if (claim?.state !== 'queued') throw new Error('claimed in another state')
    const started = await queue.move(claim, 'start', null, { note: 'on its way' })
    expect(await database.query('select status, note from job')).toEqual([{ status: 'started', note: 'on its way' }])
    await expect(queue.move(claim, 'finish', null, { note: 'late' })).rejects.toThrow(ClaimLost)
    await expect(queue.move(started, 'finish', null, { status: 'queued' })).rejects.toThrow('the column "status"')
    await queue.move(started, 'finish', null, { note: 'there' })
    expect(await database.query('select status, note from job')).toEqual([{ status: 'done', note: 'there' }])
  })

  it('is written by its owner alone: its other columns, guarded; those of the engine not at all', async () => {
    const database = await make()
    await addJobs(database, 1)
    const queue = queueOf(database)
    const [claim] = await queue.claim()
    await queue.update(claim!, { note: 'mine' })
    await queue.update(claim!, {})
    expect(await database.value('select note from job')).toBe('mine')
    for (const column of ['id', 'status', 'retry_at', 'claim_token', 'claimed_by', 'attempts', 'changed_at']) {
      await expect(queue.update(claim!, { [column]: null })).rejects.toThrow(`the column "${column}"`)
    }
    await queue.send([claim!.id], 'pause')
    await expect(queue.update(claim!, { note: 'late' })).rejects.toThrow(ClaimLost)
    expect(await database.value('select note from job')).toBe('mine')
  })

  it('is written and given back in one transaction, or not at all', async () => {
    const database = await make()
    await addJobs(database, 1)
    const claim = (await queueOf(database).claim())[0]!
    const client = await database.pool.connect()
    try {
      for (const end of ['rollback', 'commit']) {
        await client.query('begin')
        const queue = queueOf(database).on(pgSql(client)) as Queue<typeof job, Job>
        await queue.update(claim, { note: 'halfway' })
        expect(await queue.release(claim, 90_000)).toBe(true)
        await client.query(end)
        const after = await database.query(
          'select note, claim_token is null as free, retry_at > now() + interval $$80 s$$ as later from job',
        )
        expect(after).toEqual([
          end === 'commit' ? { note: 'halfway', free: true, later: true } : { note: null, free: false, later: false },
        ])
      }
    } finally {
      client.release()
    }
  })

  it('is not settled at all when one of the batch has an outcome that its state does not offer', async () => {
    const database = await make()
    await addJobs(database, 2)
    const queue = queueOf(database)
    const [one, two] = await queue.claim({ limit: 2 })
    const settling = queue.settle([
      { claim: one!, outcome: 'finish' },
      { claim: two!, outcome: 'explode' as 'finish' },
    ])
    await expect(settling).rejects.toThrow('state graph "job": state "queued" does not offer the event "explode"')
    expect(await queue.counts(['done'])).toEqual({ done: 0 })
  })
})
