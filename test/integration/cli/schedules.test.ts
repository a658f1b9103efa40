import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Bell } from '../../../src/base/abort.ts'
import { uuidv7 } from '../../../src/base/ids.ts'
import { Stop } from '../../../src/base/stop.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { Scheduled } from '../../../src/workers/crawl/scheduled.ts'
import type { WorkerContext } from '../../../src/workers/supervise/worker-context.ts'
import { setClock, turnClock } from '../../support/fake-clock.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { records } from '../../support/records.ts'

const URL = 'http://127.0.0.1:9/'
const homes = useHomes()
let home: TestHome
let db: Database
let leader: Scheduled
const said: string[] = []

/** The schedules of a leader in this process, which has a term but none of the other jobs of a leader. */
async function leaderOf({ dataDir }: TestHome): Promise<Scheduled> {
  const [processId, dataDirId] = [uuidv7(), uuidv7()]
  await home.query('insert into runner_term values ($1, 1, $2)', [dataDirId, processId])
  const say = (line: string) => said.push(line)
  return new Scheduled({
    owner: { home: { db, dataDir, dataDirId } as WorkerContext['owner']['home'], processId, term: 1 },
    ...{ runnerId: processId, stop: new Stop(), bell: new Bell(), scope: {} },
    log: { info: say, warn: say, error: say, debug: say } as unknown as WorkerContext['log'],
  } as unknown as WorkerContext)
}

const add = async (...args: string[]) => (await records(home, ['schedule', 'add', ...args, URL]))[0]!
/** The due moments of a schedule that have crawls, in their order. */
const made = async (id: unknown) =>
  (
    await home.query<{ due: string }>(
      `select to_char(due_at at time zone 'UTC', 'MM-DD HH24:MI') as due
       from crawl where schedule_id = $1 order by due_at`,
      [id],
    )
  ).map(({ due }) => due)
const sealAll = () => home.query(`update crawl set status = 'sealed', retry_at = null where status <> 'sealed'`)
/** Lets time pass until then, and the leader do what is due. */
async function at(moment: string, seal = true): Promise<void> {
  if (seal) await sealAll()
  await turnClock(home, moment)
  await leader.isNear(0)
}

beforeAll(async () => {
  home = await homes.original()
  await setClock(home, '2027-01-01T00:00Z')
  db = openDatabase(home.databaseUrl, { name: 'the test', connections: 2 })
  leader = await leaderOf(home)
})
afterAll(async () => await db?.destroy())

describe('a schedule', () => {
  it('makes one crawl for each due moment of a year, whatever is killed, and one for what was missed', async () => {
    const weekly = await add('--every', '30 2 * * 7', '--timezone', 'Europe/Berlin', '--tag', 'news', '--depth', '1')
    const monthly = await add('--every', 'month', '--timezone', 'UTC', '--label', 'Monthly')
    expect([weekly['next_at'], monthly['next_at']]).toEqual(['2027-01-03T01:30:00.000Z', '2027-02-01T00:00:00.000Z'])
    // Sundays of 2027, by the calendar: 02:30 in Berlin, and once on each of the two days that are an hour too short or
    // too long.
    const sundays = Array.from({ length: 52 }, (_, week) => new Date(Date.UTC(2027, 0, 3 + 7 * week)))
    const isSummer = (day: Date) => day >= new Date('2027-03-29') && day <= new Date('2027-10-31')
    const due = sundays.map((day) => {
      const text = day.toISOString().slice(5, 10)
      if (text === '03-28') return `${text} 01:00`
      return `${text} ${isSummer(day) ? '00:30' : '01:30'}`
    })
    const off = (moment: string) => moment > '07-05' && moment < '08-20' // The machine is switched off.
    const kills = [
      ['05-09 00:30', 'claim.schedule_claimed'],
      ['06-06 00:30', 'claim.schedule_added'],
      ['06-13 00:30', 'claim.schedule_released'],
    ] as const
    const moments = [
      ...due,
      ...Array.from({ length: 11 }, (_, i) => `${String(i + 2).padStart(2, '0')}-01 00:00`),
    ].sort()
    for (const moment of moments.filter((each) => !off(each))) {
      const point = kills.find(([when]) => when === moment)?.[1]
      if (point) {
        await sealAll()
        await turnClock(home, `2027-${moment}Z`)
        const run = ['run', '--exit-on-idle', '--exclude', 'snapshot']
        const killed = await home.run(run, { env: { ARCHIVEBOX_FAILPOINTS: `${point}=kill9` } })
        expect(killed.signal, killed.stderr).toBe('SIGKILL')
        expect((await home.run(run)).code).toBe(0)
      }
      await at(`2027-${moment}Z`)
      await leader.isNear(0) // Once more: nothing comes twice.
    }
    // Switched on again at the first of the moments after that.
    const [firstMissed, ...alsoMissed] = due.filter(off)
    expect(alsoMissed.length).toBeGreaterThan(3)
    const after = due.filter((moment) => moment > '08-20')
    expect(await made(weekly['id'])).toEqual([
      ...due.filter((moment) => moment < '07-05'),
      firstMissed,
      ...after.slice(1),
    ])
    expect(await made(monthly['id'])).toEqual([
      ...['02', '03', '04', '05', '06', '07', '08', '09', '10', '11', '12'].map((month) => `${month}-01 00:00`),
    ])
    const [crawl] = await home.query('select * from crawl where schedule_id = $1 limit 1', [weekly['id']])
    expect(crawl).toMatchObject({ urls: URL, tags: ['news'], max_depth: 1, urls_total: 1 })
  })

  it('skips a moment while its last crawl is unfinished, and says so', async () => {
    await turnClock(home, '2027-12-31T12:00Z')
    const daily = await add('--every', 'day', '--timezone', 'UTC')
    await at('2028-01-01T00:00Z')
    const [crawl] = await home.query<{ id: string }>('select id from crawl where schedule_id = $1', [daily['id']])
    for (const status of ['queued', 'paused']) {
      await home.query('update crawl set status = $1 where id = $2', [status, crawl!.id])
      await at('2028-01-02T00:00Z', false)
      await at('2028-01-03T00:00Z', false)
      expect(await made(daily['id'])).toEqual(['01-01 00:00'])
      expect(said.at(-1)).toContain(`was skipped: crawl ${crawl!.id}`)
    }
    expect(await home.value<string>('select message from schedule where id = $1', [daily['id']])).toBe(
      `2028-01-03 00:00 was skipped: crawl ${crawl!.id} of 2028-01-01 00:00 is queued, not finished`,
    )
    await at('2028-01-04T00:00Z')
    expect(await made(daily['id'])).toEqual(['01-01 00:00', '01-04 00:00'])
    expect(await home.value('select message from schedule where id = $1', [daily['id']])).toBe('')
  })

  it('has one crawl for each moment, says the schema', async () => {
    const again = `insert into crawl select (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid()))).*
      from crawl c where schedule_id is not null limit 1`
    await expect(home.query(again)).rejects.toThrow('crawl_of_schedule')
  })

  it('is paused, resumed without what passed meanwhile, run at once, and removed', async () => {
    const hourly = await add('--every', 'hour', '--timezone', 'UTC')
    const id = String(hourly['id'])
    const change = async (verb: string) => (await records(home, ['schedule', verb, id.slice(-8)]))[0]
    await turnClock(home, '2028-02-01T00:30Z')
    expect(await change('pause')).toMatchObject({ status: 'paused', next_at: null })
    expect((await home.run(['schedule', 'pause', id])).code).toBe(1)
    await at('2028-02-01T03:30Z')
    expect(await made(id)).toEqual([])
    expect(await change('resume')).toMatchObject({ status: 'active', next_at: '2028-02-01T04:00:00.000Z' })
    expect(await change('run')).toMatchObject({ next_at: '2028-02-01T04:00:00.000Z' })
    expect(await made(id)).toEqual(['02-01 03:30'])
    const twice = await home.run(['schedule', 'run', id])
    expect([twice.code, twice.stderr]).toEqual([
      1,
      expect.stringMatching(/is queued, not finished\nerror: no schedule to run\n/),
    ])
    const { stdout } = await home.run(['status', '--json'])
    expect((JSON.parse(stdout) as { schedules: object }).schedules).toMatchObject({ next: { id }, paused: 0 })
    expect(await change('remove')).toMatchObject({ id })
    expect((await records(home, ['schedule', 'list'])).map((row) => row.id)).not.toContain(id)
    expect(await home.value('select count(*)::int from crawl where due_at is not null and schedule_id is null')).toBe(1)
    expect((await home.run(['schedule', 'run', id])).code).toBe(2)
  })

  it('is refused when it is never due', async () => {
    const { code, stdout, stderr } = await home.run(['schedule', 'add', '--every', '0 0 30 2 *', URL])
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: "0 0 30 2 *" is never due: no such day ever comes\n',
    })
  })
})
