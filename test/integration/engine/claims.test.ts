import { randomUUID } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { again, type Claimed, Queue, type Sql, type Statement } from '../../../src/engine/index.ts'
import { addJobs, JOB_TABLE, type Job, job, queueOf, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { useDatabases } from '../../support/engine.ts'

const databases = useDatabases()
const make = () => databases.make(JOB_TABLE, TRANSITION_TABLE)

type Doubled = Job & { readonly double: number }

describe('claims', () => {
  it('of one due row by many at once: exactly one wins, whichever way it is asked for', async () => {
    const database = await make()
    for (let round = 0; round < 10; round++) {
      const [id] = await addJobs(database, 1)
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
    await addJobs(database, 1)
    const inBoth: (() => void)[] = []
    const bothHaveRead = new Promise<void>((resolve) => {
      inBoth.push(() => inBoth.push(resolve) > 2 && resolve())
    })
    const unlocked = async () => {
      const [row] = await database.query(`select id from job where status = 'queued' and retry_at <= now() limit 1`)
      inBoth[0]!()
      await bothHaveRead
      return await database.query(`update job set retry_at = now() + interval '1 min' where id = $1 returning id`, [
        row!['id'],
      ])
    }
    expect((await Promise.all([unlocked(), unlocked()])).flat()).toHaveLength(2)
  })

  it('share many rows between many: each row once', async () => {
    const database = await make()
    const ids = await addJobs(database, 500)
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
    const [future, unscheduled, final, external] = await addJobs(database, 4)
    await database.query(`update job set retry_at = now() + interval '1 hour', claim_token = $2 where id = $1`, [
      future,
      randomUUID(),
    ])
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
    const [middle, newest, oldest] = await addJobs(database, 3)
    for (const [id, age] of [
      [middle, 20],
      [newest, 10],
      [oldest, 30],
    ]) {
      await database.query(`update job set retry_at = now() - make_interval(secs => $2) where id = $1`, [id, age])
    }
    const first = async (order: 'oldest' | 'newest') =>
      (await new Queue<typeof job, Job>(job, database.sql, { order }).claim())[0]?.id
    expect([await first('oldest'), await first('newest'), await first('oldest'), await first('oldest')]).toEqual([
      oldest,
      newest,
      middle,
      undefined,
    ])
  })

  it('find rows that were put before the place where the last claim ended, at the latest when there is nothing behind it', async () => {
    const database = await make()
    await addJobs(database, 3)
    const queue = queueOf(database)
    expect(await queue.claim({ limit: 2 })).toHaveLength(2)
    const [before] = await addJobs(database, 1, `now() - interval '1 day'`)
    const found = [...(await queue.claim()), ...(await queue.claim())].map(({ id }) => id)
    expect(found).toContain(before)
    expect(found).toHaveLength(2)
  })

  it('of one row do so, too', async () => {
    const database = await make()
    await addJobs(database, 30)
    const queue = queueOf(database)
    await queue.pick(1)
    const [before] = await addJobs(database, 1, `now() - interval '1 day'`)
    const found: string[] = []
    await vi.waitFor(
      async () => {
        const claim = await queue.pick(1)
        if (typeof claim === 'object') found.push(claim.id)
        expect(found).toContain(before)
      },
      { timeout: 60_000, interval: 50 },
    )
  })

  it.each(['claim', 'pick'] as const)(
    '(%s) do not read past all that was claimed since the last vacuum',
    async (how) => {
      const database = await make()
      await database.query('alter table job set (autovacuum_enabled = off)')
      await database.query('create index job_due on job (retry_at, id) where retry_at is not null')
      await addJobs(database, 20_000)
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
      // The place is remembered for a second: on a slow machine the first one may begin anew.
      const goesOn = async () => {
        await queue[how](1)
        return asked.at(-1)!.values[1] !== '-infinity'
      }
      await vi.waitUntil(goesOn, { timeout: 60_000 })
      const { statement, values } = asked.at(-1)!
      const pagesRead = async (parameters: readonly unknown[]) => {
        const [row] = await database.query(`explain (analyze, buffers, format json) ${statement.text}`, parameters)
        const [{ Plan: plan }] = row!['QUERY PLAN'] as [{ Plan: Record<string, number> }]
        return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
      }
      const fromTheStart = values.map((value, index) => (index === 1 ? '-infinity' : index === 2 ? '0' : value))
      expect(await pagesRead(values)).toBeLessThan(50)
      expect(await pagesRead(fromTheStart)).toBeGreaterThan(150)
    },
  )

  it('find rows before that place, too, while new ones keep coming behind it', async () => {
    const database = await make()
    await addJobs(database, 2)
    const queue = queueOf(database)
    await queue.claim()
    const [before] = await addJobs(database, 1, `now() - interval '1 day'`)
    const found: string[] = []
    await vi.waitFor(
      async () => {
        await addJobs(database, 1)
        found.push(...(await queue.claim()).map(({ id }) => id))
        expect(found).toContain(before)
      },
      { timeout: 60_000, interval: 5 },
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

  it('bring along what is asked for besides', async () => {
    const database = await make()
    await addJobs(database, 3)
    const queue = new Queue<typeof job, Doubled>(job, database.sql, {
      besides: '(select taken.id * 2)::int as double',
    })
    const [claim] = await queue.claim()
    expect(claim?.row.double).toBe(2)
    expect(await queue.pick(1)).toMatchObject({ id: '2', row: { double: 4 } })
    const next = await queue.moveAndClaim(claim as Claimed<typeof job, 'queued', Doubled>, 'finish', {})
    expect(next?.row.double).toBe(6)
    await queue.release(next!)
    expect((await queue.claimRow('3'))?.row.double).toBe(6)
  })

  it('go by the clock of the database: whatever the clock of the program says', async () => {
    const database = await make()
    await addJobs(database, 1)
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2100-01-01') })
    try {
      const queue = queueOf(database)
      const [claim] = await queue.claim()
      expect(await database.value(`select retry_at - now() between interval '30 s' and interval '60 s' from job`)).toBe(
        true,
      )
      expect(await queue.claim()).toEqual([])
      vi.setSystemTime(new Date('1980-01-01'))
      expect((await queue.renew([claim!])).size).toBe(1)
      await queue.settle([{ claim: claim!, outcome: again(600_000) }])
      expect(
        await database.value(`select retry_at - now() between interval '9 min' and interval '10 min' from job`),
      ).toBe(true)
      expect(await queue.send(['1'], 'pause')).toEqual(['1'])
      expect(await queue.send(['1'], 'resume')).toEqual(['1'])
      expect(await database.value('select retry_at <= now() from job')).toBe(true)
    } finally {
      vi.useRealTimers()
    }
  })
})
