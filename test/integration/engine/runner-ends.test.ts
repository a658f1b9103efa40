import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  again,
  type ModelOptions,
  Runner,
  type RunnerOptions,
  type Sql,
  withHandlers,
} from '../../../src/engine/index.ts'
import { JOB_TABLE, job, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { gate, runUntil, type TestDatabase, useDatabases } from '../../support/engine.ts'
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

describe('a runner', () => {
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
    expect((await runner.run({ runForMs: 0 })).models['job']?.claimed).toBeGreaterThanOrEqual(3)
    await add(database, 3)
    const { seconds, models } = await runner.run({ runForMs: 400 })
    expect(seconds).toBeGreaterThanOrEqual(0.39)
    expect(models['job']?.claimed).toBeGreaterThanOrEqual(3)
  })

  it('runs once at a time, and not with two models of one name', async () => {
    const database = await make()
    const runner = runnerOf(database, [{ handlers: finishAll }])
    const running = runner.run({ runForMs: 50 })
    await expect(runner.run()).rejects.toThrow('the runner is already running')
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
    const goOn = () => void vi.useRealTimers()
    onTestFinished(goOn)
    await runUntil(runner, async () => {
      await eventually(() => looks >= 3) // In vain: by itself, and because it listens now.
      // Its next look by itself comes never: the clock stands still by which that would be due.
      vi.useFakeTimers({ toFake: ['performance'] })
      await delay(200) // One may be under way.
      const before = looks
      await database.query(`with added as (insert into job (status) values ('queued')) select pg_notify('work', '')`)
      for (let waits = 0; looks === before && waits < 3_000; waits += 1) await delay(20)
      goOn()
      expect(looks).toBeGreaterThan(before)
      return await eventually(async () => (await left(database)) === 0)
    })
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
