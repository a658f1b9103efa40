import { type Selectable, sql } from 'kysely'
import type { Database } from './database.ts'
import type { Home } from './home.ts'
import { asRunning, insertion, type NewProcess, type NewRow, rowOf, runningRow } from './new-process.ts'
import type { ProcessIdentity } from './process-identity.ts'
import { RELAXED } from './relaxed.ts'
import { withRetry } from './retry.ts'
import type { ProcessTable, Tier } from './tables.ts'

export type ProcessRow = Selectable<ProcessTable>

/** A row with its times relative to the database's clock: seconds since its heartbeat and since its promotion. */
export type LiveRow = ProcessRow & { readonly heartbeat_age_s: number | null; readonly led_s: number | null }

/** The statuses of a process that is alive, according to its row. */
export const LIVE_STATUSES = ['starting', 'running', 'draining'] as const
/** The same as a condition, written out so that every plan can use the index on live rows. */
export const IS_LIVE = sql<boolean>`process.status in (${sql.join(LIVE_STATUSES.map((status) => sql.lit(status)))})`

/**
 * Announces a process before it is spawned: after a crash in between, the row and a mark in the environment identify
 * it.
 */
export async function insertStarting(home: Home, values: NewProcess): Promise<Inserted> {
  return await insert(home, rowOf(home, values))
}

/** Registers an existing process. @param row of `runningRow` */
export const insertRunning = insert

type Inserted = Pick<ProcessRow, 'id' | 'seq' | 'status'>

async function insert(home: Home, row: NewRow): Promise<Inserted> {
  const statement = insertion(home.db, row).returning(['id', 'seq', 'status', RELAXED_IF_SO.as('relaxed')])
  return await withRetry(home.db, () => statement.executeTakeFirstOrThrow())
}

/**
 * A write about a hook's process, or a command's, does not wait for the disk. If a server that dies loses it, the mark
 * and the control group still tell whose process a hook is, and the claim of its page is on disk; a command owns
 * nothing.
 */
const RELAXED_IF_SO = sql<string | null>`case when process_type in ('hook', 'cli') then ${RELAXED} end`

/**
 * Registers a waiting runner, or again one that has lost its lead or its row: afterwards the row describes what the
 * process does from now on. A closed row is reopened, unless it belongs to a runner that takes over and a newer one has
 * led since.
 * @returns its id and place in line; undefined when a newer runner has led since
 */
export async function registerRunner(
  home: Home,
  values: NewProcess & { readonly id: string; readonly standby: boolean },
  identity: ProcessIdentity,
): Promise<Pick<ProcessRow, 'id' | 'seq'> | undefined> {
  const row = runningRow(home, values, identity)
  const newerHasLed = sql<boolean>`exists (
    select from process newer
    where newer.data_dir_id = ${home.dataDirId} and newer.seq > process.seq and newer.promoted_at is not null)`
  const statement = home.db
    .insertInto('process')
    .values(row)
    .onConflict((known) =>
      known
        .column('id')
        .doUpdateSet({
          ...asRunning(identity),
          worker_type: 'runner_waiting',
          standby: values.standby,
          handoff_requested_by: null,
          handoff_grace_s: null,
          handoff_signal: false,
          blocked_reason: null,
          ended_at: null,
          exit_code: null,
          exit_signal: null,
        })
        .where(sql<boolean>`(process.ended_at is null or ${values.standby} or not ${newerHasLed})`),
    )
    .returning(['id', 'seq'])
  return await withRetry(home.db, () => statement.executeTakeFirst())
}

const ago = (ms: number) => sql<Date>`now() - make_interval(secs => ${ms / 1000})`

/** Notes the address of a server. */
export async function noteUrl(db: Database, id: string, url: string): Promise<void> {
  await sql`update process set url = ${url} where id = ${id}`.execute(db)
}

/**
 * Completes a row after the spawn.
 * @param ranMs how long it has been running
 */
export async function markRunning(db: Database, id: string, identity: ProcessIdentity, ranMs = 0): Promise<void> {
  const update = sql`
    update process
    set status = 'running', boot_id = ${identity.bootId}, pid_namespace = ${identity.pidNamespace},
        pid = ${identity.pid}, start_ticks = ${identity.startTicks}, started_at = ${ago(ranMs)}, heartbeat_at = now()
    where id = ${id} and status = 'starting'
    returning ${RELAXED_IF_SO}`
  await withRetry(db, () => update.execute(db))
}

/**
 * Closes the row of a process that had ended before `markRunning`, and notes when it began.
 * @param ran its pid, and the rest of its identity unless it was gone before anybody could look at it
 */
export async function markRan(
  db: Database,
  id: string,
  ran: Partial<ProcessIdentity> & Pick<ProcessIdentity, 'pid'>,
  exit: { code: number | null; signal: string | null },
  ranMs: number,
): Promise<void> {
  const update = sql`
    update process
    set status = 'exited', boot_id = ${ran.bootId ?? null}, pid_namespace = ${ran.pidNamespace ?? null},
        pid = ${ran.pid}, start_ticks = ${ran.startTicks ?? null},
        started_at = ${ago(ranMs)}, heartbeat_at = now(),
        exit_code = ${exit.code}, exit_signal = ${exit.signal}, ended_at = now()
    where id = ${id} and status = 'starting'
    returning ${RELAXED_IF_SO}`
  await withRetry(db, () => update.execute(db))
}

/** Notes how a runner contains its hooks. */
export async function recordContainment(
  db: Database,
  id: string,
  { tier, path }: { tier: Tier; path?: string },
): Promise<void> {
  const update = sql`update process set containment = ${tier}, cgroup = ${path ?? null} where id = ${id}`
  await withRetry(db, () => update.execute(db))
}

/** Set at the first signal, even inside the gate. */
export async function markDraining(db: Database, id: string): Promise<void> {
  const update = sql`update process set status = 'draining' where id = ${id} and status = 'running'`
  await withRetry(db, () => update.execute(db))
}

/**
 * Closes a row whose process the operating system says is gone.
 * @param exit what the parent's wait reported; null when nobody saw the end: the row becomes `lost` and its exit code
 * stays unknown
 */
export async function markEnded(
  db: Database,
  id: string,
  exit: { code: number | null; signal: string | null } | null,
): Promise<void> {
  const update = sql`
    update process
    set status = ${exit ? 'exited' : 'lost'}, exit_code = ${exit?.code ?? null},
        exit_signal = ${exit?.signal ?? null}, ended_at = now()
    where id = ${id} and status in ('starting', 'running', 'draining')
    returning ${RELAXED_IF_SO}`
  await withRetry(db, () => update.execute(db))
}

/** Notes in the rows of processes that cannot be ended, why, and since when: the time of the first attempt. */
export async function noteStuck(db: Database, ids: readonly string[], why: string): Promise<void> {
  const text = sql`to_char(now() at time zone 'UTC', '"since "YYYY-MM-DD"T"HH24:MI:SS"Z: "') || ${why}::text`
  const update = sql`
    update process set blocked_reason = ${text}
    where id = any(${ids}::uuid[]) and blocked_reason is null
      and status in ('starting', 'running', 'draining')`
  await withRetry(db, () => update.execute(db))
}

/** Notes which process has a worker hand over, before it is killed: then no claim of it is to blame for its end. */
export async function noteHandover(db: Database, id: string, by: string): Promise<void> {
  const update = sql`update process set handoff_requested_by = ${by} where id = ${id}`
  await withRetry(db, () => update.execute(db))
}

/** Closes the row of a runner that ends in order. One that only waited until its successor led had led itself. */
export async function markResigned(db: Database, id: string, code: number): Promise<void> {
  const update = sql`
    update process
    set status = 'exited', exit_code = ${code}, ended_at = now(),
        worker_type = case when handoff_requested_by is not null and promoted_at is not null then 'worker_runner'
                           else worker_type end
    where id = ${id} and status in ('starting', 'running', 'draining')`
  await withRetry(db, () => update.execute(db))
}

/** Seconds since a process's last heartbeat, and since its promotion; by the database's clock. */
export const ages = [
  sql<number | null>`extract(epoch from now() - heartbeat_at)`.as('heartbeat_age_s'),
  sql<number | null>`extract(epoch from now() - promoted_at)`.as('led_s'),
] as const

/**
 * Rows of this data dir that are not closed, in order of registration, with the age of their heartbeat by the
 * database's clock.
 */
export async function liveRows(home: Home): Promise<LiveRow[]> {
  const select = home.db
    .selectFrom('process')
    .selectAll()
    .select(ages)
    .where('data_dir_id', '=', home.dataDirId)
    .where(IS_LIVE)
    .orderBy('seq')
  return await withRetry(home.db, () => select.execute())
}

/** Whether this row is open: no end was recorded. */
export function isLive(row: Pick<ProcessRow, 'status'>): boolean {
  return (LIVE_STATUSES as readonly string[]).includes(row.status)
}

/** Whether this is a runner, leading or waiting. */
export function isRunner(row: Pick<ProcessRow, 'worker_type'>): boolean {
  return row.worker_type === 'worker_runner' || row.worker_type === 'runner_waiting'
}

/** The identity in a row; null while it is not complete. */
export function identityIn(
  row: Pick<ProcessRow, 'pid' | 'start_ticks' | 'boot_id' | 'pid_namespace'>,
): ProcessIdentity | null {
  if (row.pid === null || row.start_ticks === null || row.boot_id === null || row.pid_namespace === null) return null
  return { bootId: row.boot_id, pidNamespace: row.pid_namespace, pid: row.pid, startTicks: row.start_ticks }
}
