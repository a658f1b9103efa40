import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  Actor,
  type ActorOptions,
  type AnyClaimed,
  type Context,
  ENDED,
  FAILED,
  type FromActor,
  failed,
  putBack,
  Queue,
  RELEASED,
  Runner,
  Supervised,
  withHandlers,
} from '../../../src/engine/index.ts'
import { JOB_TABLE, type Job, job, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { gate, type TestDatabase, useDatabases } from '../../support/engine.ts'
import { eventually } from '../../support/program.ts'

const databases = useDatabases()
type Claim = AnyClaimed<typeof job, Job>
type Work = (claim: Claim, context: Context) => Promise<unknown>

async function make(): Promise<TestDatabase> {
  const database = await databases.make(JOB_TABLE, TRANSITION_TABLE)
  await database.query('insert into job default values')
  return database
}

/** An actor whose ticks are over when their handlers have returned. */
function actorOf(database: TestDatabase, work: Work, options: Partial<ActorOptions<typeof job, Job>> = {}) {
  const handlers = withHandlers<typeof job, Job>(job, { queued: work as never, started: work as never })
  return new Actor<typeof job, Job>({
    ...{ sql: database.sql, handlers, waitForHandlers: true, idleMs: 10, maxIdleTicks: 0, onError: () => {} },
    ...options,
  })
}

const rowOf = async (database: TestDatabase) =>
  (
    await database.query(`
    select status, attempts, claim_token is not null as claimed,
      case when retry_at <= now() then 'now' when retry_at < now() + interval '30 s' then 'soon'
        when retry_at is not null then 'later' end as due
    from job`)
  )[0]

/** Waits until the signal aborts, and for `go` then. */
async function untilStopped({ signal }: Context, go: Promise<void>, seen: (reason: unknown) => void): Promise<void> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
  seen(signal.reason)
  await go
}

describe('a tick that is over when its handler has returned', () => {
  it('keeps its row past its deadline, until it has returned; then it has failed', async () => {
    const database = await make()
    const { opened, open } = gate()
    let reason: unknown
    const work: Work = async (_, context) => {
      await untilStopped(context, opened, (why) => (reason = why))
      return 'finish'
    }
    const running = actorOf(database, work, { maxTickMs: 30 }).run()
    await eventually(() => reason)
    expect(reason).toMatchObject({ name: 'DeadlineExceeded' })
    expect(await rowOf(database)).toMatchObject({ status: 'queued', claimed: true, due: 'later' })
    open()
    await running
    expect(await rowOf(database)).toEqual({ status: 'queued', attempts: 1, claimed: false, due: 'soon' })
  })

  it.each<[string, (() => unknown) | undefined, object]>([
    ['what it answers', () => 'finish', { status: 'done', attempts: 0, due: null }],
    ['that its attempt counts, if it says so', () => failed(0), { status: 'queued', attempts: 1, due: 'now' }],
    ['when it is to be tried again', () => putBack(600_000), { status: 'queued', attempts: 0, due: 'later' }],
    ['nothing, if it throws', undefined, { status: 'queued', attempts: 0, due: 'now' }],
  ])('is forced, and %s is written when it has returned', async (_what, answer, row) => {
    const database = await make()
    const { opened, open } = gate()
    const force = new AbortController()
    let isStopped = false
    let isTicking = false
    const work: Work = async (_, context) => {
      isTicking = true
      await untilStopped(context, opened, () => (isStopped = true))
      if (!answer) throw context.signal.reason
      return answer()
    }
    const running = actorOf(database, work).run({ force: force.signal })
    await eventually(() => isTicking)
    force.abort()
    await eventually(() => isStopped)
    expect(await rowOf(database)).toMatchObject({ claimed: true })
    open()
    await running
    expect(await rowOf(database)).toEqual({ claimed: false, ...row })
  })

  it('hears at once, when it is to look, that its row was taken away, and writes nothing', async () => {
    const database = await make()
    const supervised = new Supervised(() => {})
    const { opened, open } = gate()
    let reason: unknown
    let isTicking = false
    const work: Work = async (_, context) => {
      isTicking = true
      await untilStopped(context, opened, (why) => (reason = why))
      return 'finish'
    }
    const ends: string[] = []
    const running = actorOf(database, work, { supervised, onTickEnd: () => ends.push('over') }).run()
    await eventually(() => isTicking)
    await database.query('update job set claim_token = $1', [randomUUID()])
    supervised.hear({ type: 'recheck' })
    await eventually(() => reason)
    expect(reason).toMatchObject({ name: 'ClaimLost' })
    expect(ends).toEqual([])
    open()
    await running
    expect(ends).toEqual(['over'])
    expect(supervised.onRecheck.size).toBe(0)
    expect(await rowOf(database)).toMatchObject({ status: 'queued', claimed: true })
    supervised.close()
  })

  it('is the same of a runner, which leaves when its handlers have returned', async () => {
    const database = await make()
    const { opened, open } = gate()
    const force = new AbortController()
    let isStopped = false
    let isTicking = false
    const work: Work = async (_, context) => {
      isTicking = true
      await untilStopped(context, opened, () => (isStopped = true))
      return 'finish'
    }
    const handlers = withHandlers<typeof job, Job>(job, { queued: work as never, started: work as never })
    const runner = new Runner({ sql: database.sql, models: [{ handlers, waitForHandlers: true }] })
    const running = runner.run({ force: force.signal })
    await eventually(() => isTicking)
    force.abort()
    await eventually(() => isStopped)
    expect(await rowOf(database)).toMatchObject({ status: 'queued', claimed: true })
    open()
    await running
    expect(await rowOf(database)).toMatchObject({ status: 'done', claimed: false })
  })

  it('has its deadline counted from each sign of progress, which its pool hears of, too', async () => {
    const database = await make()
    const said: FromActor[] = []
    const supervised = new Supervised((message) => said.push(message))
    const slow: Work = async (_, context) => {
      context.progress(600_000)
      await new Promise((resolve) => setTimeout(resolve, 700)) // Deadlines are looked at every 250 ms.
      return 'finish'
    }
    await actorOf(database, slow, { supervised, maxTickMs: 100 }).run()
    expect(await rowOf(database)).toMatchObject({ status: 'done' })
    expect(said.filter(({ type }) => type !== 'here')).toEqual([
      { type: 'busy', forMs: 100 },
      { type: 'busy', forMs: 600_100 },
      { type: 'progress', settled: true },
      { type: 'idle' },
    ])
    supervised.close()
  })
})

describe('a claim', () => {
  it('outlives a change of state in mid-tick: what the handler answers counts from there', async () => {
    const database = await make()
    const queue = new Queue<typeof job, Job>(job, database.sql)
    await actorOf(database, async (claim, context) => {
      context.holds(await queue.move(claim as Claim & { state: 'queued' }, 'start'))
      return putBack(600_000)
    }).run()
    expect(await rowOf(database)).toEqual({ status: 'started', attempts: 0, claimed: false, due: 'later' })
  })

  it.each([
    ['written', async () => 'finish' as const, true],
    ['put back', async () => putBack(600_000), false],
    ['failed', async () => FAILED, false],
    [
      'released by its handler',
      async (claim: Claim, { sql }: Context) => {
        await new Queue<typeof job, Job>(job, sql).release(claim, 600_000)
        return RELEASED
      },
      false,
    ],
  ])('whose outcome was %s tells its pool so', async (_how, work, settled) => {
    const database = await make()
    const said: FromActor[] = []
    const supervised = new Supervised((message) => said.push(message))
    await actorOf(database, work as Work, { supervised }).run()
    expect(said.filter(({ type }) => type === 'progress')).toEqual([{ type: 'progress', settled }])
    supervised.close()
  })

  it('may be ended by its handler, in a transaction of its own', async () => {
    const database = await make()
    const queue = new Queue<typeof job, Job>(job, database.sql)
    const errors: Error[] = []
    const onError = (error: Error) => errors.push(error)
    await actorOf(
      database,
      async (claim) => {
        await queue.move(claim as Claim & { state: 'queued' }, 'finish')
        return ENDED
      },
      { onError },
    ).run()
    expect(await rowOf(database)).toMatchObject({ status: 'done' })
    expect(errors).toEqual([])
  })

  it.each([
    ['whose answer was lost is made again, once, and its attempt is counted once', ':claim'],
    ['whose outcome’s answer was lost is not lost: the row says under which token it was moved', ':settle'],
    ['whose move’s answer was lost goes on', ':keep'],
  ])('%s', async (_what, which) => {
    const database = await make()
    await database.query('alter table job add column moved_by uuid')
    const machine = { ...job, columns: { ...job.columns, movedBy: 'moved_by' } }
    let losses = 1
    const sql = {
      query: async <R>(...query: Parameters<typeof database.sql.query>) => {
        const rows = await database.sql.query<R>(...query)
        if (query[0].name.includes(which) && losses-- > 0) throw new Error('lost')
        return rows
      },
    }
    const retry = async <T>(work: (isAgain: boolean) => Promise<T>): Promise<T> => {
      try {
        return await work(false)
      } catch {
        return await work(true)
      }
    }
    const queue = new Queue<typeof job, Job>(machine, sql, { retry, owner: randomUUID() })
    const attempts: number[] = []
    const errors: Error[] = []
    const work: Work = async (claim, context) => {
      attempts.push(claim.attempts)
      context.holds(await queue.move(claim as Claim & { state: 'queued' }, 'start'))
      return 'finish'
    }
    await actorOf(database, work, { sql, queue, claimFromTopN: 1, onError: (error) => errors.push(error) }).run()
    expect(losses).toBeLessThan(1)
    expect({ attempts, errors }).toEqual({ attempts: [1], errors: [] })
    expect(await rowOf(database)).toMatchObject({ status: 'done' })
    expect(await database.query('select event from transition order by id')).toEqual([
      { event: 'start' },
      { event: 'finish' },
    ])
  })
})

describe('a row that was claimed too often in vain', () => {
  const giving = (database: TestDatabase, giveUp: Work) => {
    const broken = async () => {
      throw new Error('broken')
    }
    const handlers = withHandlers<typeof job, Job>(job, { queued: broken, started: broken }, giveUp as never)
    return new Actor<typeof job, Job>({ sql: database.sql, handlers, maxIdleTicks: 0, onError: () => {} })
  }

  it('has done with it what is to be done, then moves along its state’s `giveUp`', async () => {
    const database = await make()
    await database.query('update job set attempts = 3')
    const seen: number[] = []
    await giving(database, async ({ attempts }) => void seen.push(attempts)).run()
    expect(seen).toEqual([4])
    expect(await rowOf(database)).toMatchObject({ status: 'failed' })
  })

  it('waits for that when its last attempt fails, and when giving it up does', async () => {
    const database = await make()
    await database.query('update job set attempts = 2')
    const giveUp = async () => {
      throw new Error('not even that')
    }
    for (const attempts of [3, 4, 5]) {
      await giving(database, giveUp).run()
      expect(await rowOf(database)).toMatchObject({ status: 'queued', attempts, claimed: false })
      await database.query('update job set retry_at = now()')
    }
  })

  it('moves along its state’s `giveUp` by its graph alone, when giving it up fails as often as its work', async () => {
    const database = await make()
    await database.query('update job set attempts = 5')
    const seen: number[] = []
    const giveUp: Work = async ({ attempts }) => {
      seen.push(attempts)
      throw new Error('not even that')
    }
    await giving(database, giveUp).run()
    expect(seen).toEqual([6])
    expect(await rowOf(database)).toMatchObject({ status: 'failed', claimed: false })
  })

  it('is not given up by its own work any more, when that has ended its process as often', async () => {
    const database = await make()
    await database.query('update job set attempts = 6')
    const seen: number[] = []
    await giving(database, async ({ attempts }) => void seen.push(attempts)).run()
    expect(seen).toEqual([])
    expect(await rowOf(database)).toMatchObject({ status: 'failed', claimed: false })
  })
})

describe('the loop of an actor', () => {
  it('claims nothing while it may not, and warms up once', async () => {
    const database = await make()
    let looks = 0
    let warmUps = 0
    await actorOf(database, async () => 'finish', {
      mayClaim: () => ++looks > 2,
      warmUp: () => (warmUps += 1),
      maxIdleTicks: 1_000,
      supervised: new Supervised(({ type }) => type === 'progress' && stop.abort()),
    }).run({ signal: stop.signal })
    expect(await rowOf(database)).toMatchObject({ status: 'done' })
    expect([looks, warmUps]).toEqual([3, 1])
  })
  const stop = new AbortController()

  it('ends with what is thrown about a claim that failed', async () => {
    const database = await make()
    await database.query('drop table job')
    const onError = (error: Error) => {
      throw error
    }
    await expect(actorOf(database, async () => 'finish', { onError }).run()).rejects.toThrow('"job" does not exist')
  })
})
