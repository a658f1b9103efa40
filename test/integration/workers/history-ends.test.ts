import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { makeShortFolder, processFolderOf } from '../../../src/base/short-folder.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { deleteEndedProcesses, deleteOldTransitions } from '../../../src/db/history.ts'
import { removeLeftFolders } from '../../../src/workers/repair/left-folders.ts'
import { newFolder, type TestHome, useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'
import { queuedPages, runAll } from '../../support/queued.ts'

const homes = useHomes()
let home: TestHome
let db: Database
let machine: string
const dataDir = uuidv7()

beforeEach(async () => {
  home = await homes.make()
  db = openDatabase(home.databaseUrl, { name: 'the test' })
  machine = await home.value<string>('select id from machine')
})
afterEach(() => db.destroy())

/** The row of a process that ended so many days ago; of one that lives, when not given. */
async function row(days: number | null, columns: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const id = uuidv7()
  const all: Record<string, unknown> = {
    id,
    machine_id: machine,
    data_dir: '/x',
    data_dir_id: dataDir,
    process_type: 'cli',
    status: days === null ? 'starting' : 'exited',
    ended_at: days === null ? null : new Date(Date.now() - days * 86_400_000),
    ...columns,
  }
  const names = Object.keys(all)
  await home.query(
    `insert into process (${names.join(', ')}) values (${names.map((_, index) => `$${index + 1}`).join(', ')})`,
    Object.values(all),
  )
  return id
}

/** Forgets what it may, and answers with what is left of these. */
async function left(...ids: string[]): Promise<string[]> {
  while ((await deleteEndedProcesses(db, 30, 2)) > 0);
  const rows = await home.query<{ id: string }>('select id from process where id = any($1)', [ids])
  return ids.filter((id) => rows.some((one) => one.id === id))
}

describe('the folder in /tmp of a process that has ended', () => {
  it('is removed; not that of one that lives, or of another data dir, nor what is none of ours', async () => {
    const pwd = newFolder()
    const ids = [await row(0, { pwd }), await row(null, { pwd }), await row(0, { data_dir_id: uuidv7() }), uuidv7()]
    const profiles = ids.map((id) => join(pwd, '.browser', basename(processFolderOf(id))))
    for (const each of profiles) mkdirSync(join(each, 'Default'), { recursive: true })
    const folders = ids.map((id) => makeShortFolder(processFolderOf(id), 'nothing'))
    const open = processFolderOf(await row(0))
    mkdirSync(open, { mode: 0o755 })
    mkdirSync(join(folders[0]!, 'tmp'))
    try {
      await removeLeftFolders({ db, dataDirId: dataDir })
      const isThere = (all: string[]) => all.map((folder) => existsSync(folder))
      expect([isThere(folders), isThere(profiles)]).toEqual(Array(2).fill([false, true, true, true]))
      expect(existsSync(open)).toBe(true)
    } finally {
      for (const folder of [...folders, open, pwd]) rmSync(folder, { recursive: true, force: true })
    }
  })
})

describe('the row of a process that ended long ago', () => {
  it('is deleted, and so are its parents after it; one that ended lately stays', async () => {
    const runner = await row(32)
    const worker = await row(33, { parent_id: runner })
    const hooks = [
      await row(34, { parent_id: worker }),
      await row(35, { parent_id: worker }),
      await row(36, { parent_id: worker }),
    ]
    const late = await row(29)
    expect(await left(runner, worker, ...hooks, late)).toEqual([late])
  })

  it('stays as long as one that it started does, alive or ended lately', async () => {
    const oldest = await row(50)
    const parent = await row(40, { parent_id: oldest })
    const alive = await row(null, { parent_id: parent })
    const other = await row(40)
    const ended = await row(3, { parent_id: other })
    const all = [oldest, parent, alive, other, ended]
    expect(await left(...all)).toEqual(all)
    expect(await home.value('select parent_id from process where id = $1', [alive])).toBe(parent)
  })

  it('stays when it led last', async () => {
    const leader = await row(40, { process_type: 'orchestrator', worker_type: 'worker_runner', term: 7 })
    await home.query('insert into runner_term values ($1, 7, $2)', [dataDir, leader])
    expect(await left(leader)).toEqual([leader])
    await home.query('delete from runner_term')
    expect(await left(leader)).toEqual([])
  })

  it('stays when nobody saw the end of its lead where that was, until somebody has led there since', async () => {
    const led = { process_type: 'orchestrator', worker_type: 'worker_runner', boot_id: 'a', pid_namespace: 'b' }
    const lost = await row(40, { ...led, term: 3, status: 'lost' })
    await row(39, { ...led, term: 4, boot_id: 'another' })
    expect(await left(lost)).toEqual([lost])
    const later = await row(38, { ...led, term: 5, status: 'lost' })
    expect(await left(lost, later)).toEqual([later])
  })

  it('stays when it has a claim, or a result that is not final', async () => {
    const { crawl, pages } = await queuedPages(home, ['http://127.0.0.1:1/'])
    const [crawler, snapper, hook, over] = [await row(40), await row(40), await row(40), await row(40)]
    await home.query('update crawl set claimed_by = $1, claim_token = $1 where id = $2', [crawler, crawl])
    await home.query('update snapshot set claimed_by = $1, claim_token = $1', [snapper])
    await home.query(
      `insert into archive_result (id, snapshot_id, plugin, hook_name, process_id, status, end_ts)
       values ($1, $3, 'a', 'b', $1, 'backoff', null), ($2, $3, 'a', 'c', $2, 'failed', now())`,
      [hook, over, pages[0]],
    )
    const planner = await row(40)
    await home.query(
      `insert into schedule (id, every, cron, timezone, urls, crawl, next_at, retry_at, claimed_by, claim_token)
       values ($1, 'day', '0 0 * * *', 'UTC', 'http://127.0.0.1:1/', '{}', now(), now(), $1, $1)`,
      [planner],
    )
    expect(await left(crawler, snapper, hook, planner, over)).toEqual([crawler, snapper, hook, planner])
  })
})

it('the log of transitions loses what is old, a batch at a time, and nothing else', async () => {
  await home.query(
    `insert into transition (model, row_id, from_status, to_status, event, at)
     select 'crawl', gen_random_uuid(), 'queued', 'sealed', 'seal', now() - n * interval '1 day'
       from generate_series(1, 40) n`,
  )
  const counts: number[] = []
  for (let count = 4; count === 4; counts.push(count)) count = await deleteOldTransitions(db, 30, 4)
  expect(counts).toEqual([4, 4, 3])
  expect(await home.value<number>('select extract(day from now() - min(at))::int from transition')).toBe(29)
})

describe('a leader', () => {
  const old = async () => {
    await row(31)
    await home.query(
      `insert into transition (model, row_id, from_status, to_status, event, at)
       values ('crawl', gen_random_uuid(), 'queued', 'sealed', 'seal', now() - interval '31 days')`,
    )
  }
  const count = () =>
    home.value<string>(
      "select (select count(*) from process where data_dir = '/x') || ' ' || (select count(*) from transition)",
    )

  it('forgets what is older than 30 days, though it leaves at once', async () => {
    await old()
    await runAll(home)
    expect(await count()).toBe('0 0')
  })

  it('takes a batch of what a long pause has left at once, and the rest in its rounds', async () => {
    await home.query(
      `insert into process (id, machine_id, data_dir, data_dir_id, process_type, status, ended_at)
       select gen_random_uuid(), $1, '/x', $2, 'cli', 'exited', now() - interval '31 days'
         from generate_series(1, 1700)`,
      [machine, dataDir],
    )
    await home.query(
      `insert into transition (model, row_id, from_status, to_status, event, at)
       select 'crawl', gen_random_uuid(), 'queued', 'sealed', 'seal', now() - interval '31 days'
         from generate_series(1, 1700)`,
    )
    const runner = home.start(['run'])
    await eventually(async () => (await count()) === '1500 1500')
    await eventually(async () => (await count()) === '0 0', 60_000)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
  })

  it.each([
    ['0', '1 1'],
    ['32', '1 1'],
    ['1', '0 0'],
  ])('with HISTORY_DAYS=%s leaves %s', async (days, expected) => {
    await old()
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: { HISTORY_DAYS: days } })
    expect(code, stderr).toBe(0)
    expect(await count()).toBe(expected)
  })
})
