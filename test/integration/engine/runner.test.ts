import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ModelOptions, Runner, type RunnerOptions, type Summary, withHandlers } from '../../../src/engine/index.ts'
import { JOB_TABLE, type Job, job, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { gate, runUntil, type TestDatabase, useDatabases } from '../../support/engine.ts'
import { newFolder } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'

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
    const wrong =
      `select row_id from transition group by row_id having string_agg(event, ' ' ` + `order by id) <> 'start finish'`
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
      'state graph "job": 2 rows are in the unknown state "ghost" and are not claimed',
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
