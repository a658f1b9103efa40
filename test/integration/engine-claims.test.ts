import { randomUUID } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { again, ClaimLost, defineMachine, pgSql, Queue, RETRY_AT_MAX, type Sql, type Statement } from '../../src/engine/index.ts'
import { columns, JOB_TABLE, type Job, job, TRANSITION_TABLE } from '../fixtures/engine/job.ts'
import { type TestDatabase, useDatabases } from '../support/engine.ts'

const databases = useDatabases()
const make = () => databases.make(JOB_TABLE, TRANSITION_TABLE)
const add = async (database: TestDatabase, count: number, retryAt = 'now()') =>
  (await database.query(`insert into job (retry_at) select ${retryAt} from generate_series(1, $1) returning id::text`, [count])).map(
    ({ id }) => String(id),
  )
const queueOf = ({ sql }: { readonly sql: Sql }) => new Queue<typeof job, Job>(job, sql)

describe('claims', () => {
  it('of one due row by many at once: exactly one wins, whichever way it is asked for', async () => {
    const database = await make()
    for (let round = 0; round < 10; round++) {
      const [id] = await add(database, 1)
      const claimants = Array.from({ length: 8 }, () => queueOf(database))
      const won = await Promise.all(
        claimants.map(async (queue, index) => {
          if (index % 3 === 0) return await queue.claim()
          const claim = index % 3 === 1 ? await queue.claimRow(id!) : await queue.pick(10)
          return typeof claim === 'object' ? [claim] : []
        }),
      )
      expect(won.flat()).toMatchObject([{ id, state: 'queued', attempts: 1 }])
      expect(await database.value('select claim_token from job where id = $1', [id])).toBe(won.flat()[0]!.token)
    }
  })

  it('without the row lock would be given to two (this is what the test above can see)', async () => {
    const database = await make()
    await add(database, 1)
    const inBoth: (() => void)[] = []
    const bothHaveRead = new Promise<void>((resolve) => {
      inBoth.push(() => inBoth.push(resolve) > 2 && resolve())
    })
    const unlocked = async () => {
      const [row] = await database.query(`select id from job where status = 'queued' and retry_at <= now() limit 1`)
      inBoth[0]!()
      await bothHaveRead
      return await database.query(`update job set retry_at = now() + interval '1 min' where id = $1 returning id`, [row!['id']])
    }
    expect((await Promise.all([unlocked(), unlocked()])).flat()).toHaveLength(2)
  })

  it('share many rows between many: each row once', async () => {
    const database = await make()
    const ids = await add(database, 500)
    const claimed: string[] = []
    const drain = async () => {
      const queue = queueOf(database)
      for (;;) {
        const claims = await queue.claim({ limit: 7 })
        if (claims.length === 0) return
        claimed.push(...claims.map(({ id }) => id))
      }
    }
    await Promise.all(Array.from({ length: 6 }, drain))
    expect(claimed.length).toBe(500)
    expect(new Set(claimed)).toEqual(new Set(ids))
  })

  it('never take a future schedule, nor one that is not there, nor a row in a final or external state', async () => {
    const database = await make()
    const [future, unscheduled, final, external] = await add(database, 4)
    await database.query(`update job set retry_at = now() + interval '1 hour', claim_token = $2 where id = $1`, [future, randomUUID()])
    await database.query('update job set retry_at = null where id = $1', [unscheduled])
    await database.query(`update job set status = 'done' where id = $1`, [final])
    await database.query(`update job set status = 'paused' where id = $1`, [external])
    const queue = queueOf(database)
    expect(await queue.claim({ limit: 10 })).toEqual([])
    expect(await queue.pick(10)).toBe('empty')
    for (const id of [future, unscheduled, final, external]) expect(await queue.claimRow(id!)).toBeUndefined()
    expect(await queue.due(10)).toEqual([])
  })

  it('take the oldest first, or the newest', async () => {
    const database = await make()
    const [middle, newest, oldest] = await add(database, 3)
    for (const [id, age] of [
      [middle, 20],
      [newest, 10],
      [oldest, 30],
    ]) {
      await database.query(`update job set retry_at = now() - make_interval(secs => $2) where id = $1`, [id, age])
    }
    const first = async (order: 'oldest' | 'newest') => (await new Queue<typeof job, Job>(job, database.sql, { order }).claim())[0]?.id
    expect([await first('oldest'), await first('newest'), await first('oldest'), await first('oldest')]).toEqual([
      oldest,
      newest,
      middle,
      undefined,
    ])
  })

  it('find rows that were put before the place where the last claim ended, at the latest when there is nothing behind it', async () => {
    const database = await make()
    await add(database, 3)
    const queue = queueOf(database)
    expect(await queue.claim({ limit: 2 })).toHaveLength(2)
    const [before] = await add(database, 1, `now() - interval '1 day'`)
    const found = [...(await queue.claim()), ...(await queue.claim())].map(({ id }) => id)
    expect(found).toContain(before)
    expect(found).toHaveLength(2)
  })

  it('of one row do so, too', async () => {
    const database = await make()
    await add(database, 30)
    const queue = queueOf(database)
    await queue.pick(1)
    const [before] = await add(database, 1, `now() - interval '1 day'`)
    const found: string[] = []
    await vi.waitFor(
      async () => {
        const claim = await queue.pick(1)
        if (typeof claim === 'object') found.push(claim.id)
        expect(found).toContain(before)
      },
      { timeout: 20_000, interval: 50 },
    )
  })

  it.each(['claim', 'pick'] as const)('(%s) do not read past all that was claimed since the last vacuum', async (how) => {
    const database = await make()
    await database.query('alter table job set (autovacuum_enabled = off)')
    await database.query('create index job_due on job (retry_at, id) where retry_at is not null')
    await add(database, 20_000)
    await database.query('analyze job')
    const asked: { statement: Statement; values: readonly unknown[] }[] = []
    const sql: Sql = {
      query: async (statement, values) => {
        asked.push({ statement, values })
        return await database.sql.query(statement, values)
      },
    }
    const queue = queueOf({ sql })
    for (let claimed = 0; claimed < 15_000; claimed += 1_000) await queue.claim({ limit: 1_000 })
    await queue[how](1)
    const { statement, values } = asked.at(-1)!
    const pagesRead = async (parameters: readonly unknown[]) => {
      const [row] = await database.query(`explain (analyze, buffers, format json) ${statement.text}`, parameters)
      const [{ Plan: plan }] = row!['QUERY PLAN'] as [{ Plan: Record<string, number> }]
      return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
    }
    const fromTheStart = values.map((value, index) => (index === 1 ? '-infinity' : index === 2 ? '0' : value))
    expect(await pagesRead(values)).toBeLessThan(50)
    expect(await pagesRead(fromTheStart)).toBeGreaterThan(150)
  })

  it('find rows before that place, too, while new ones keep coming behind it', async () => {
    const database = await make()
    await add(database, 2)
    const queue = queueOf(database)
    await queue.claim()
    const [before] = await add(database, 1, `now() - interval '1 day'`)
    const found: string[] = []
    await vi.waitFor(
      async () => {
        await add(database, 1)
        found.push(...(await queue.claim()).map(({ id }) => id))
        expect(found).toContain(before)
      },
      { timeout: 20_000, interval: 5 },
    )
  })

  it('are narrowed down by a condition, and fenced by a row that must be there', async () => {
    const database = await make()
    await database.query('create table term (number int)')
    await database.query('insert into term values (7)')
    await database.query(`insert into job (note) values ('mine'), ('theirs')`)
    const queue = new Queue<typeof job, Job>(job, database.sql, {
      where: (first) => `work.note = $${first}`,
      whereValues: 1,
      fence: (first) => `select 1 from term where number = $${first}`,
    })
    for (const claim of [
      async (values: unknown[]) => await queue.claim({ limit: 5, values }),
      async (values: unknown[]) => [await queue.pick(5, { values })].filter((found) => typeof found === 'object'),
      async (values: unknown[]) => [await queue.claimRow('1', { values })].filter((found) => found !== undefined),
    ]) {
      expect(await claim(['mine', 6])).toEqual([])
      const found = await claim(['mine', 7])
      expect(found).toMatchObject([{ id: '1', row: { note: 'mine' } }])
      await queue.release(found[0]!)
    }
    expect(await queue.due(5, ['theirs'])).toMatchObject([{ id: '2' }])
  })

  it('go by the clock of the database: whatever the clock of the program says', async () => {
    const database = await make()
    await add(database, 1)
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2100-01-01') })
    try {
      const queue = queueOf(database)
      const [claim] = await queue.claim()
      expect(await database.value(`select retry_at - now() between interval '50 s' and interval '60 s' from job`)).toBe(true)
      expect(await queue.claim()).toEqual([])
      vi.setSystemTime(new Date('1980-01-01'))
      expect((await queue.renew([claim!])).size).toBe(1)
      await queue.settle([{ claim: claim!, outcome: again(10_000) }])
      expect(await database.value(`select retry_at - now() between interval '9 s' and interval '10 s' from job`)).toBe(true)
      expect(await queue.send(['1'], 'pause')).toEqual(['1'])
      expect(await queue.send(['1'], 'resume')).toEqual(['1'])
      expect(await database.value('select retry_at <= now() from job')).toBe(true)
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('leases', () => {
  it('are renewed while they are ours, and known to be lost when they are not', async () => {
    const database = await make()
    const [kept, stolen, paused] = await add(database, 3)
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
      if (claim.state === 'queued') await expect(queue.move(claim, 'start')).rejects.toThrow(`job ${claim.id}: queued -start-> started`)
    }
  })

  it('that ran out are claimed again, with the attempt counted and the earlier owner named', async () => {
    const database = await make()
    await add(database, 1)
    const queue = queueOf(database)
    const [first, second] = [randomUUID(), randomUUID()]
    await queue.claim({ owner: first, leaseSeconds: 0 })
    const [claim] = await queue.claim({ owner: second })
    expect(claim).toMatchObject({ attempts: 2, expiredOwner: first, row: { claimed_by: second } })
  })

  it('of dead owners end at once; those of the living stay', async () => {
    const database = await make()
    await add(database, 5)
    const queue = queueOf(database)
    const [dead, alive] = [randomUUID(), randomUUID()]
    const lost = await queue.claim({ owner: dead, limit: 2 })
    const kept = await queue.claim({ owner: alive, limit: 2 })
    expect(await queue.requeueClaimsOf([dead])).toBe(2)
    expect(await queue.requeueClaimsOf([dead])).toBe(0)
    expect((await queue.claim({ owner: alive, limit: 9 })).map(({ id }) => id).sort()).toEqual([...lost.map(({ id }) => id), '5'].sort())
    expect((await queue.renew(kept)).size).toBe(2)
    expect(await queue.settle(lost.map((claim) => ({ claim, outcome: 'finish' })))).toEqual(new Set())
  })

  it('of dead owners are known by their tokens where the table names no owner', async () => {
    const database = await make()
    await add(database, 2)
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
    expect(await bare.requeueClaimsOf([token])).toBe(1)
    expect(await bare.claim({ limit: 5 })).toMatchObject([{ id: '1' }])
  })
})

describe('a claimed row', () => {
  it('is given back without blame, or with the attempt counted', async () => {
    const database = await make()
    await add(database, 1)
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
    await add(database, 2)
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

  it('is written by its owner alone: its other columns, guarded; those of the engine not at all', async () => {
    const database = await make()
    await add(database, 1)
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
    await add(database, 1)
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
        expect(after).toEqual([end === 'commit' ? { note: 'halfway', free: true, later: true } : { note: null, free: false, later: false }])
      }
    } finally {
      client.release()
    }
  })

  it('is not settled at all when one of the batch has an outcome that its state does not offer', async () => {
    const database = await make()
    await add(database, 2)
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
    await add(database, 2)
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
    await add(database, 1)
    const [claim] = await queueOf(database).claim()
    await database.query(`update job set status = 'checking'`)
    expect(await queueOf(database).settle([{ claim: claim!, outcome: 'finish' }])).toEqual(new Set())
    expect(await database.value('select status from job')).toBe('checking')
  })

  it('rows in a state that nobody knows any more wait until somebody knows it again', async () => {
    const database = await make()
    await add(database, 3)
    await database.query(`update job set status = 'ghost' where id < 3`)
    expect(await queueOf(database).claim({ limit: 5 })).toHaveLength(1)
    expect(await queueOf(database).unknown()).toEqual({ ghost: 2 })
    expect(await new Queue(before, database.sql).unknown()).toEqual({ ghost: 2 })
    await database.query(`update job set status = 'queued' where status = 'ghost'`)
    expect(await queueOf(database).claim({ limit: 5 })).toHaveLength(2)
  })
})
