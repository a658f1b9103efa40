// What a runner asks of the tables of processes and transitions must cost the same however many ended before. Each
// statement is watched on large tables, by what the server says that it read. Twice: with statistics, and with plans
// from when the tables were empty.
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { gather } from '../../../src/app/status/facts.ts'
import { Bell } from '../../../src/base/abort.ts'
import { settingsOf } from '../../../src/base/config.ts'
import { dataDirId } from '../../../src/base/data-dir-id.ts'
import { uuidv7 } from '../../../src/base/ids.ts'
import { Log } from '../../../src/base/log.ts'
import { Stop } from '../../../src/base/stop.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { heartbeat, sayThere } from '../../../src/db/heartbeats.ts'
import { deleteEndedProcesses, deleteOldTransitions } from '../../../src/db/history.ts'
import type { Home } from '../../../src/db/home.ts'
import { listProcesses, type ProcessFilters } from '../../../src/db/process-rows.ts'
import { insertStarting, liveRows, registerRunner } from '../../../src/db/processes.ts'
import { demote, goToGate, isHandoffRequested, type Place, requestHandoff } from '../../../src/db/runners.ts'
import { lostLeaderIn } from '../../../src/db/terms.ts'
import { handledWithin } from '../../../src/machines/handled.ts'
import { snapshotQueue } from '../../../src/machines/queues.ts'
import { ownIdentity } from '../../../src/processes/identity.ts'
import { currentMachine } from '../../../src/processes/machine.ts'
import { presentRows } from '../../../src/processes/presence.ts'
import { bootId, pidNamespace } from '../../../src/processes/proc.ts'
import { holdOffToRespect } from '../../../src/runner/lead-hold-off.ts'
import { promote } from '../../../src/runner/promote.ts'
import { reconcileCancelled } from '../../../src/workers/repair/reconcile-work.ts'
import { Reconciler } from '../../../src/workers/repair/reconciler.ts'
import { endFormerWorkers, reapRunner } from '../../../src/workers/supervise/reap.ts'
import type { WorkerContext } from '../../../src/workers/supervise/worker-context.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { rowsRead } from '../../support/rows-read.ts'
import { NIGHTLY } from '../../support/seed.ts'

const homes = useHomes()
const MANY = NIGHTLY ? 200_000 : 50_000
/** Seconds between two of them: all are of two months. */
const STEP = 5_000_000 / MANY
/** Rows of a table that one step may read: those it is about, and the few that lie beside them in an index. */
const FEW = 100
const LIMIT = 10
/** A statement that is executed more often gets a plan that is kept (PostgreSQL: five). */
const KEPT = 8
const TABLES = ['process', 'transition']
/** Lists that no row is in, or few. */
const RARE: readonly ProcessFilters[] = [
  ...[{ status: 'lost' }, { status: 'draining' }, { status: 'exited', type: 'update' }, { workerType: 'crawl' }],
  ...[
    { all: true, type: 'search' },
    { all: true, workerType: 'binary' },
    { all: true, type: 'hook', status: 'lost' },
  ],
]

let test: TestHome
let db: Database
let home: Home
/** What the steps of the last runner found. */
const found = { lost: 0, claims: 0, processes: 0, transitions: 0 }

beforeEach(async () => {
  test = await homes.make()
  // One connection, whose counters can be read at once, and which keeps its statements prepared as with the embedded
  // server.
  db = openDatabase(test.databaseUrl, { name: 'the test', connections: 1, embedded: true })
  const machineId = (await currentMachine(db)).id
  const id = await dataDirId(test.dataDir, () => {})
  home = { db, databaseUrl: test.databaseUrl, embedded: true, machineId, dataDir: test.dataDir, dataDirId: id }
  for (const table of TABLES) await test.query(`alter table ${table} set (autovacuum_enabled = false)`)
})
afterEach(async () => {
  // None of it has a history that keeps what is promised of one.
  await test.query('truncate crawl, transition, process, runner_term cascade')
  await db.destroy()
})

/**
 * Two months of history: each tenth process led, half of those were asked to hand over, all in this place. The end of
 * one was not seen, one has a claim, and then somebody led elsewhere.
 */
async function grow(): Promise<void> {
  await test.query(
    `insert into process (id, machine_id, data_dir, data_dir_id, process_type, worker_type, status, boot_id,
      pid_namespace, pid, start_ticks,
       started_at, heartbeat_at, created_at, ended_at, promoted_at, term, handoff_requested_by, exit_code)
     select gen_random_uuid(), $1, $2, $3, case when leads then 'orchestrator' else 'hook' end, case
       when leads then 'worker_runner' else '' end,
       'exited', $4, $5, 1000 + n, n, at, at, at, at, case when leads then at end, case when leads then -n end,
       case when n % 20 = 0 then gen_random_uuid() end, 0
     from (select n, n % 10 = 0 as leads, now() - interval '1 hour' - n * interval '${STEP} s' as at
       from generate_series(1, $6::int) n) as old`,
    [home.machineId, home.dataDir, home.dataDirId, bootId(), pidNamespace(), MANY],
  )
  const [lost, claimant, elsewhere] = (
    await test.query<{ id: string }>(
      `select id from process where worker_type = 'worker_runner' order by pid desc limit 3`,
    )
  ).map(({ id }) => id)
  await test.query(`update process set status = 'lost', exit_code = null, term = 0 where id = $1`, [lost])
  await test.query(
    `insert into crawl (id, urls, output_dir, claimed_by, claim_token) values ($1, 'u', 'archive/x', $2, $1)`,
    [uuidv7(), claimant],
  )
  await test.query(`update process set boot_id = 'another', term = 1 where id = $1`, [elsewhere])
  await test.query('delete from runner_term')
  await test.query('insert into runner_term values ($1, 1, $2)', [home.dataDirId, elsewhere])
  await test.query(
    `insert into transition (model, row_id, from_status, to_status, event, at)
     select 'archive_result', gen_random_uuid(), 'started', 'succeeded', 'succeed',
       now() - interval '1 hour' - (${MANY} - n) * interval '${STEP} s'
     from generate_series(1, ${MANY}) n`,
  )
}

/** A runner from its start to its end, with all that it asks meanwhile. `watch` is told each step. */
async function oneRunner(watch: (name: string, step: () => Promise<unknown>) => Promise<void>): Promise<void> {
  const identity = await ownIdentity()
  const place = { bootId: bootId(), pidNamespace: pidNamespace() }
  const values = {
    processType: 'orchestrator',
    workerType: 'runner_waiting',
    parentId: null,
    runnerId: null,
    pwd: '/',
    cmd: [],
  } as const
  const row = { ...values, id: uuidv7(), standby: false }
  let me: Place | undefined
  let term = 0
  await watch('look for a fight', () => holdOffToRespect(home))
  await watch('register', async () => {
    me = await registerRunner(home, row, identity)
  })
  // Closed by somebody: then it matters who led since.
  await sql`update process set status = 'lost', ended_at = now() where id = ${row.id}`.execute(db)
  await watch('register again', async () => {
    me = await registerRunner(home, row, identity)
  })
  const runner = me!
  await watch('look who is there', () => presentRows(home))
  await watch('say that it waits', () => sayThere(db, runner.id))
  await watch('go to the gate', () => goToGate(home, runner, true))
  await watch('ask for the lead', () => requestHandoff(home, runner.id, [uuidv7()], [], 1))
  await watch('look for a lost leader', async () => {
    found.lost = (await lostLeaderIn(home, place)) ? 1 : 0
  })
  await watch('promote', async () => {
    const rows = { open: await liveRows(home), stuck: new Set<string>() }
    const lead = (await promote(home, runner, rows, new AbortController().signal))!
    found.claims = lead.requeued
    term = lead.number
  })
  await watch('beat', () => heartbeat(home, runner.id, identity, null))
  await watch('was it asked', () => isHandoffRequested(home, runner.id))
  const context: WorkerContext = {
    owner: { home, processId: runner.id, term: 1 },
    runnerId: runner.id,
    log: new Log('the test', () => {}),
    stop: new Stop(),
    bell: new Bell(),
    settings: settingsOf({}),
    scope: {},
    containment: { tier: 'basic', deathSignal: false },
  }
  await watch('reconcile', () => new Reconciler(context).whenDue())
  await watch('reconcile cancellations', () => reconcileCancelled(home))
  const { id } = await insertStarting(home, {
    ...values,
    workerType: '',
    processType: 'hook',
    parentId: runner.id,
    runnerId: runner.id,
  })
  await watch('end former workers', () => endFormerWorkers({ ...context.owner, processId: id }, uuidv7()))
  const page = uuidv7()
  await sql`
    with c as (
      insert into crawl (id, urls, output_dir, status, claimed_by, claim_token)
      values (${page}, 'u', 'archive/x', 'started', ${runner.id}, ${page})
    ) insert into snapshot (id, crawl_id, url, url_hash, output_dir)
    values (${page}, ${page}, 'https://example.com', '', 'archive/x')`.execute(db)
  await watch('claim a page', async () => {
    expect((await snapshotQueue({ ...context.owner, term }, runner.id, {}).next())?.row.before.crawl).toMatchObject({
      id: page,
    })
  })
  await sql`delete from crawl where id = ${page}`.execute(db)
  await watch('count what was handled', () => handledWithin(db, 3_600))
  await watch('show all', () => gather({ home, kind: 'embedded', settings: context.settings }))
  for (const filters of RARE) await watch(`list ${JSON.stringify(filters)}`, () => listProcesses(home, filters, LIMIT))
  await watch('forget processes', async () => {
    found.processes = await deleteEndedProcesses(db, 29, LIMIT)
  })
  await watch('forget transitions', async () => {
    found.transitions = await deleteOldTransitions(db, 29, LIMIT)
  })
  await watch('step back', () => demote(home, runner.id))
  await watch('leave', () => reapRunner(home, runner.id))
  await sql`update process set status = 'exited', ended_at = now() where ended_at is null`.execute(db)
}

describe('a runner after many others', () => {
  it.each([
    ['with statistics', false],
    ['with plans that were made while the tables were empty', true],
  ])('reads a few rows at each step, %s', async (_what, kept) => {
    if (kept) {
      for (let n = 0; n < KEPT; n += 1) await oneRunner(async (_name, step) => void (await step()))
      await grow()
      await delay(10_500) // What is older is planned again.
    } else {
      await grow()
      await test.query('analyze')
    }
    const costs: Record<string, Record<string, number>> = {}
    await oneRunner(async (name, step) => {
      costs[name] = await rowsRead(db, TABLES, step)
    })
    const dear = Object.entries(costs).filter(([, read]) => Object.values(read).some((rows) => rows > FEW))
    expect(dear).toEqual([])
    expect(found).toEqual({ lost: 1, claims: 1, processes: LIMIT, transitions: LIMIT })
  })
})
