import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  again,
  type ModelOptions,
  Runner,
  type RunnerOptions,
  type Sql,
  type Summary,
  withHandlers,
} from '../../src/engine/index.ts'
import { JOB_TABLE, type Job, job, TRANSITION_TABLE } from '../fixtures/engine/job.ts'
import { gate, runUntil, type TestDatabase, useDatabases } from '../support/engine.ts'
import { newFolder } from '../support/homes.ts'
import { eventually } from '../support/program.ts'

const databases = useDatabases()
const make = () => databases.make(JOB_TABLE, TRANSITION_TABLE)
const add = async (database: TestDatabase, count: number, note: string | null = null) => {
  await database.query('insert into job (note) select $2 from generate_series(1, $1::int)', [count, note])
}
const left = async (database: TestDatabase) =>
  await database.value<number>(`select count(*)::int from job where status <> 'done'`)
const finishAll = withHandlers(job, { queued: async () => 'start', started: async () => 'finish' })
const runnerOf = (database: TestDatabase, models: readonly ModelOptions[], options: Partial<RunnerOptions> = {}) =>
  new Runner({ sql: database.sql, models, watchdog: false, ...options })
/** The same graph on a second name, for rows with that note. */
const named = (name: string) => ({ ...job, name })
const only = (note: string): Pick<ModelOptions, 'queue' | 'values'> => ({
  queue: { where: (first) => `work.note = $${first}`, whereValues: 1 },
  values: () => [note],
})

describe('a runner', () => {
  it('takes every row through its states to an end, and says what it did', async () => {
    const database = await make()
    await add(database, 200)
    const runner = runnerOf(database, [{ handlers: finishAll }], { concurrency: 20 })
    const { models } = await runUntil(runner, async () => (await left(database)) === 0)
    expect(models['job']).toEqual({
      claimed: 400,
      moved: { 'queued -start-> started': 200, 'started -finish-> done': 200 },
      again: 0,
      failed: 0,
      lost: 0,
      deleted: 0,
      unknown: {},
    })
    const wrong = `select row_id from transition group by row_id having string_agg(event, ' ' order by id) <> 'start finish'`
    expect(await database.query(wrong)).toEqual([])
    expect(
      await database.query('select distinct status, retry_at, claim_token, claimed_by, attempts from job'),
    ).toEqual([{ status: 'done', retry_at: null, claim_token: null, claimed_by: null, attempts: 0 }])
  })

  it('beside others, in the same process or another: each row is taken through once', async () => {
    const database = await make()
    await add(database, 300)
    const runners = Array.from({ length: 3 }, () => runnerOf(database, [{ handlers: finishAll }], { concurrency: 15 }))
    const done = async () => (await left(database)) === 0
    await Promise.all(runners.map((runner) => runUntil(runner, done)))
    expect(await database.value('select count(*)::int from transition')).toBe(600)
  })

  it('runs one cycle: housekeeping, one claim, and what it brought', async () => {
    const database = await make()
    await add(database, 5)
    const runner = runnerOf(database, [{ handlers: finishAll }], { concurrency: 3 })
    const claimed = async () => (await runner.runOnce()).models['job']?.claimed
    expect([await claimed(), await claimed(), await claimed(), await claimed(), await claimed()]).toEqual([
      3, 3, 3, 1, 0,
    ])
    expect(await left(database)).toBe(0)
  })

  it('never has more handlers at work than it may, in all and of one model', async () => {
    const database = await make()
    await add(database, 60, 'a')
    await add(database, 60, 'b')
    const atWork = { a: 0, b: 0 }
    const most = { a: 0, b: 0, all: 0 }
    const model = (name: 'a' | 'b', concurrency?: number): ModelOptions => {
      const work = async () => {
        atWork[name] += 1
        most[name] = Math.max(most[name], atWork[name])
        most.all = Math.max(most.all, atWork.a + atWork.b)
        await new Promise((resolve) => setImmediate(resolve))
        atWork[name] -= 1
        return 'finish' as const
      }
      return {
        handlers: withHandlers(named(name), { queued: work, started: work }),
        ...only(name),
        ...(concurrency ? { concurrency } : {}),
      }
    }
    await runUntil(
      runnerOf(database, [model('a', 2), model('b')], { concurrency: 5 }),
      async () => (await left(database)) === 0,
    )
    expect(most.a).toBe(2)
    expect(most.b).toBeLessThanOrEqual(4)
    expect(most.all).toBeLessThanOrEqual(5)
  })

  it('is fair: rows of a new model are handled long before the backlog of another is', async () => {
    const database = await make()
    await add(database, 600, 'backlog')
    let before = 0
    let handledBefore: number | undefined
    const backlog = async () => {
      before += 1
      if (before === 20) await add(database, 1, 'new')
      return 'finish' as const
    }
    const fresh = async () => {
      handledBefore ??= before
      return 'finish' as const
    }
    const models = [
      { handlers: withHandlers(named('backlog'), { queued: backlog, started: backlog }), ...only('backlog') },
      { handlers: withHandlers(named('new'), { queued: fresh, started: fresh }), ...only('new') },
    ]
    let news = () => {}
    const listen = (onNews: () => void) => {
      news = onNews
      return { close: () => {} }
    }
    const runner = runnerOf(database, models, { concurrency: 4, listen })
    await runUntil(runner, async () => {
      news()
      return (await left(database)) === 0
    })
    expect(handledBefore).toBeGreaterThanOrEqual(19)
    expect(handledBefore).toBeLessThan(300)
  })

  it('is fair, too, when the handlers of a backlog never end: each other model has a slot', async () => {
    const database = await make()
    await add(database, 10, 'stuck')
    const { opened, open } = gate()
    const stuck = async () => {
      await opened
      return 'finish' as const
    }
    let fresh = 0
    const quick = async () => {
      fresh += 1
      return 'finish' as const
    }
    const models = [
      { handlers: withHandlers(named('stuck'), { queued: stuck, started: stuck }), ...only('stuck') },
      { handlers: withHandlers(named('new'), { queued: quick, started: quick }), ...only('new') },
    ]
    const runner = runnerOf(database, models, { concurrency: 3 })
    await runUntil(runner, async () => {
      if (fresh === 0 && (await database.value(`select count(*)::int from job where claim_token is not null`)) === 2)
        await add(database, 1, 'new')
      if (fresh > 0) open()
      return (await left(database)) === 0
    })
    expect(fresh).toBeGreaterThan(0)
  })

  it('drains: claims nothing more, but lets handlers end and writes what they answer', async () => {
    const database = await make()
    await add(database, 10)
    const stop = new AbortController()
    const { opened, open } = gate()
    let started = 0
    const work = async () => {
      started += 1
      await opened
      return 'finish' as const
    }
    const running = runnerOf(database, [{ handlers: withHandlers(job, { queued: work, started: work }) }], {
      concurrency: 3,
    }).run({
      signal: stop.signal,
    })
    await eventually(() => started === 3)
    stop.abort()
    open()
    expect((await running).models['job']).toMatchObject({ claimed: 3, moved: { 'queued -finish-> done': 3 } })
    expect(
      await database.query('select status, count(*)::int from job where claim_token is null group by 1 order by 1'),
    ).toEqual([
      { status: 'done', count: 3 },
      { status: 'queued', count: 7 },
    ])
  })

  it('is forced: stops handlers, and gives their rows back as if they had not been claimed', async () => {
    const database = await make()
    await add(database, 2)
    const force = new AbortController()
    const reasons: unknown[] = []
    let atWork = 0
    const work = (_: unknown, { signal }: { readonly signal: AbortSignal }) =>
      new Promise<'finish'>((resolve) => {
        atWork += 1
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason)
          resolve('finish')
        })
      })
    const models = [{ handlers: withHandlers(job, { queued: work, started: work }) }]
    // With no slot free, no claim is under way that could take again what is given back.
    const running = runnerOf(database, models, { concurrency: 2 }).run({ force: force.signal })
    await eventually(() => atWork === 2)
    force.abort(new Error('leave now'))
    expect((await running).models['job']).toMatchObject({ claimed: 2, moved: {}, again: 0, failed: 0, lost: 0 })
    expect(reasons).toEqual([new Error('leave now'), new Error('leave now')])
    expect(await database.query('select status, attempts, claim_token, retry_at <= now() as due from job')).toEqual([
      { status: 'queued', attempts: 0, claim_token: null, due: true },
      { status: 'queued', attempts: 0, claim_token: null, due: true },
    ])
  })

  it('runs for as long as it was told to, at least through one claim', async () => {
    const database = await make()
    await add(database, 3)
    const runner = runnerOf(database, [{ handlers: finishAll }])
    expect((await runner.run({ runForMs: 0 })).models['job']?.claimed).toBe(3)
    await add(database, 3)
    const summary = await runner.run({ runForMs: 400 })
    expect(summary.seconds).toBeGreaterThanOrEqual(0.39)
    expect(await left(database)).toBe(0)
  })

  it('runs once at a time, and not with two models of one name', async () => {
    const database = await make()
    const runner = runnerOf(database, [{ handlers: finishAll }])
    const running = runner.run({ runForMs: 50 })
    await expect(runner.run()).rejects.toThrow('the runner runs already')
    await running
    expect(() => runnerOf(database, [{ handlers: finishAll }, { handlers: finishAll }])).toThrow(
      'two models are named "job"',
    )
  })

  it('leaves alone the models that are excluded, and wants to know the name', async () => {
    const database = await make()
    await add(database, 2)
    const runner = runnerOf(database, [{ handlers: finishAll }], { exclude: ['job'] })
    expect((await runner.runOnce()).models).toEqual({})
    expect(await left(database)).toBe(2)
    expect(() => runnerOf(database, [{ handlers: finishAll }], { exclude: ['jobs'] })).toThrow(
      'there is no model "jobs" to exclude',
    )
  })

  it('is woken by a notification', async () => {
    const database = await make()
    let looks = 0
    const sql: Sql = {
      query: async (statement, values) => {
        if (statement.text.includes('skip locked')) looks += 1
        return await database.sql.query(statement, values)
      },
    }
    const listener = await database.pool.connect()
    const runner = runnerOf(database, [{ handlers: finishAll }], {
      sql,
      listen: async (onNews) => {
        listener.on('notification', onNews)
        await listener.query('listen work')
        return { close: () => listener.release() }
      },
    })
    let noticedAfterMs = Number.POSITIVE_INFINITY
    await runUntil(runner, async () => {
      await eventually(() => looks >= 5) // In vain: the sixth comes 2.5 s after the fifth.
      const before = looks
      const begun = performance.now()
      await database.query(`with added as (insert into job (status) values ('queued')) select pg_notify('work', '')`)
      await eventually(() => looks > before)
      noticedAfterMs = performance.now() - begun
      return await eventually(async () => (await left(database)) === 0)
    })
    expect(noticedAfterMs).toBeLessThan(1_500)
  })

  it('works without being woken, by looking again and again; a listener that cannot listen is reported and no more', async () => {
    const database = await make()
    const errors: Error[] = []
    const runner = runnerOf(database, [{ handlers: finishAll }], {
      onError: (error) => errors.push(error),
      listen: () => {
        throw 'no channel'
      },
    })
    await runUntil(runner, async () => {
      if ((await database.value('select count(*)::int from job')) === 0) await add(database, 1)
      return (await left(database)) === 0
    })
    expect(errors).toMatchObject([{ message: 'not an Error was thrown: no channel', cause: 'no channel' }])
  })

  it('goes by the clock of the database, whatever its own says', async () => {
    const database = await make()
    await add(database, 5)
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2150-01-01') })
    try {
      let looks = 0
      const runner = runnerOf(database, [
        {
          handlers: withHandlers(job, {
            queued: async () => (++looks > 5 ? 'finish' : again(1)),
            started: async () => 'finish',
          }),
        },
      ])
      await runUntil(runner, async () => {
        vi.setSystemTime(new Date(looks % 2 === 0 ? '1971-01-01' : '2190-01-01'))
        return (await left(database)) === 0
      })
      expect(await database.value(`select max(changed_at) - now() < interval '1 s' from job`)).toBe(true)
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('a runner tells', () => {
  it('what it did, every so often and at the end; nothing twice', async () => {
    const database = await make()
    await add(database, 30)
    const summaries: Summary[] = []
    const slow = async () => {
      await eventually(() => summaries.length > 0)
      return 'finish' as const
    }
    const runner = runnerOf(database, [{ handlers: withHandlers(job, { queued: slow, started: slow }) }], {
      summaryEveryMs: 50,
      onSummary: (summary) => summaries.push(summary),
    })
    const total = await runUntil(runner, async () => (await left(database)) === 0)
    expect(summaries.length).toBeGreaterThan(1)
    const sum = (count: (summary: Summary) => number | undefined) =>
      summaries.reduce((all, summary) => all + (count(summary) ?? 0), 0)
    expect(sum(({ models }) => models['job']?.claimed)).toBe(30)
    expect(sum(({ models }) => models['job']?.moved['queued -finish-> done'])).toBe(30)
    expect(total.models['job']).toMatchObject({ claimed: 30, moved: { 'queued -finish-> done': 30 } })
  })

  it('which rows are in a state that the graph does not know, and does not claim them', async () => {
    const database = await make()
    await add(database, 3)
    await database.query(`update job set status = 'ghost' where id < 3`)
    const errors: Error[] = []
    const runner = runnerOf(database, [{ handlers: finishAll }], { onError: (error) => errors.push(error) })
    expect((await runner.runOnce()).models['job']).toMatchObject({ claimed: 1, unknown: { ghost: 2 } })
    await runner.runOnce()
    expect(errors.map(({ message }) => message)).toEqual([
      'state graph "job": 2 rows are in state "ghost", which it does not know: nobody claims them',
    ])
    expect(await database.value(`select count(*)::int from job where status = 'ghost' and claim_token is null`)).toBe(2)
  })

  it('that it is alive, in a file', async () => {
    const database = await make()
    const folder = newFolder()
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'alive')
    await runUntil(runnerOf(database, [{ handlers: finishAll }], { livenessFile: file }), () => existsSync(file))
    expect(readFileSync(file, 'utf8')).toBe(`${process.pid}\n`)
  })

  it('handlers through their context: the database, and the log', async () => {
    const database = await make()
    await add(database, 1)
    const lines: string[] = []
    const handlers = withHandlers<typeof job, Job>(job, {
      queued: async ({ id }, { sql, log }) => {
        const [row] = await sql.query<{ one: number }>({ name: 'one', text: 'select 1 as one' }, [])
        log?.(`${id} ${row?.one}`)
        return 'finish'
      },
      started: async () => {},
    })
    await runnerOf(database, [{ handlers }], { log: (line) => lines.push(line) }).runOnce()
    expect(lines).toEqual(['1 1'])
  })
})
