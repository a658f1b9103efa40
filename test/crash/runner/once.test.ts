// What is done once for all data dirs of a database, whoever leads there, and whoever is killed meanwhile.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { beginDueBackup, endBackup, knownBackups } from '../../../src/db/backups.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import type { TestHome } from '../../support/homes.ts'
import { eventually, type Running } from '../../support/program.ts'
import { records } from '../../support/records.ts'
import { useSharedServer } from '../../support/shared-database.ts'
import { type Site, startSite } from '../../support/site.ts'

const server = useSharedServer()
let site: Site

beforeAll(async () => {
  site = await startSite(4)
})
afterAll(() => site.close())

async function leave(...runners: Running[]): Promise<void> {
  for (const runner of runners) runner.signal('SIGTERM')
  for (const runner of runners) expect((await runner.finished()).code, runner.stderr).toBe(0)
}

/** What the lease of a dead node, and its silence, would take. */
async function forget(home: TestHome): Promise<void> {
  await home.query("update node set heartbeat_at = now() - interval '1 hour'")
  for (const table of ['schedule', 'crawl', 'snapshot'])
    await home.query(`update ${table} set retry_at = now() where claim_token is not null`)
}

describe('a schedule', () => {
  const add = async (home: TestHome) =>
    (await records(home, ['schedule', 'add', '--every', 'day', `${site.url}/page-1.html`]))[0]!['id'] as string
  /** A moment of so many days ago is due, and all who listen are told. */
  async function due(home: TestHome, id: string, daysAgo: number): Promise<void> {
    await home.query(
      `update schedule set next_at = date_trunc('day', now()) - make_interval(days => $2), retry_at = now()
       where id = $1`,
      [id, daysAgo],
    )
    await home.query("select pg_notify('archivebox_work', '')")
  }
  const sealed = (home: TestHome) =>
    home.value<number>("select count(*)::int from crawl where schedule_id is not null and status = 'sealed'")

  it('adds one crawl for each moment when two nodes look at once', async () => {
    const [one, two] = await server.twoNodes()
    const runners = [one.start(['run']), two.start(['run'])]
    for (const runner of runners) await runner.says(/leading \(term 1\)/)
    const id = await add(one)
    for (let moment = 1; moment <= 4; moment += 1) {
      await due(one, id, 10 - moment)
      await eventually(async () => (await sealed(one)) === moment)
    }
    await leave(...runners)
    expect(await one.query('select count(*)::int as times from crawl group by due_at')).toEqual(
      Array(4).fill({ times: 1 }),
    )
    expect(runners.map(({ stderr }) => stderr).join('')).not.toMatch(/warning|error/i)
  })

  it.each(['claimed', 'added', 'released'])('adds it on the other node when one dies: %s', async (step) => {
    const [one, two] = await server.twoNodes()
    const id = await add(one)
    await due(one, id, 1)
    const first = one.start(['run'], { env: failpoints(one, `claim.schedule_${step}=kill9`) })
    expect((await first.finished()).signal).toBe('SIGKILL')
    await forget(one)
    const second = two.start(['run'])
    await eventually(async () => (await sealed(two)) === 1)
    const back = one.start(['run'])
    await back.says(/leading/)
    await leave(second, back)
    expect(await two.query('select count(*)::int as times from crawl group by due_at')).toEqual([{ times: 1 }])
  })
})

describe('a list', () => {
  it('goes on on another node when the first dies in the middle of a part: no page is missing or twice', async () => {
    const [one, two] = await server.twoNodes()
    const step = 'claim.crawl_pages_added'
    const urls = Array.from({ length: 9_000 }, (_, n) => `http://127.0.0.1:9/list/${n}`).join('\n')
    const added = await one.run(['add', '--again', '--plugins', 'html'], { input: urls })
    expect(added.code, added.stderr).toBe(0)
    const first = one.start(['run'], {
      env: { ...failpoints(one, `${step}=sleep:600000@3`), MAX_SNAPSHOT_WORKERS: '1' },
    })
    await eventually(() => fired(one).has(step))
    expect(await one.value('select next_part from crawl')).not.toBeNull()
    await one.kill(first)
    await forget(two)
    const second = two.start(['run'], { env: { MAX_SNAPSHOT_WORKERS: '1' } })
    await eventually(async () => (await two.value('select next_part from crawl')) === null)
    expect(await two.value('select count(*)::int from snapshot')).toBe(9_000)
    expect(await two.value('select count(distinct url)::int from snapshot')).toBe(9_000)
    await leave(second)
  })
})

describe('history', () => {
  it('is cut on two nodes at once', async () => {
    const [one, two] = await server.twoNodes()
    await one.query(`insert into transition (model, row_id, from_status, to_status, event, at)
      select 'crawl', gen_random_uuid(), 'queued', 'started', 'start', now() - interval '1000 days'
      from generate_series(1, 2000)`)
    const old = "select count(*)::int from transition where at < now() - interval '900 days'"
    const runners = [one.start(['run']), two.start(['run'])]
    await eventually(async () => (await one.value(old)) === 0)
    await leave(...runners)
    expect(runners.map(({ stderr }) => stderr).join('')).not.toMatch(/cutting history|deadlock/)
  })
})

describe('a backup that is due', () => {
  it('is made by one node, by another when that one is lost, and not again when it is made', async () => {
    const [one, two] = await server.twoNodes()
    const runners = [one.start(['run']), two.start(['run'])]
    for (const runner of runners) await runner.says(/leading/)
    await leave(...runners)
    const db = openDatabase(one.databaseUrl, { name: 'the test', connections: 4 })
    try {
      const ids = (await one.query<{ id: string }>('select id from node order by id')).map(({ id }) => id)
      const begin = async (node: number) => {
        const id = uuidv7()
        const home = { db, databaseUrl: '', embedded: false, machineId: '', dataDir: '', dataDirId: ids[node]! }
        return (await beginDueBackup(home, { id, processId: uuidv7(), file: id }, null)) ? id : undefined
      }
      const begun = await Promise.all([begin(0), begin(1)])
      expect(begun.filter((id) => id !== undefined)).toHaveLength(1)
      const winner = begun[0] === undefined ? 1 : 0
      expect(await begin(1 - winner)).toBeUndefined()
      await one.query("update node set state = 'lost' where id = $1", [ids[winner]])
      const id = await begin(1 - winner)
      await endBackup(db, { id: id!, size: 1, sha256: '', checked: 'read' })
      await one.query("update node set state = 'active'")
      expect(await begin(winner)).toBeUndefined()
      expect((await knownBackups(db)).last).toMatchObject({ id, data_dir_id: ids[1 - winner] })
    } finally {
      await db.destroy()
    }
  })
})
