import { relative } from 'node:path'
import { type InsertObject, type Selectable, sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { Database } from './database.ts'
import type { Home } from './home.ts'
import { repeatable } from './patience.ts'
import type { ProcessTable, ProcessType, Tables, Tier, WorkerType } from './tables.ts'

export type ProcessRow = Selectable<ProcessTable>

/** A row with what its times mean now, by the database's clock: seconds since its heartbeat, and since it leads. */
export type LiveRow = ProcessRow & { readonly heartbeat_age_s: number | null; readonly tenure_s: number | null }

export const LIVE_STATUSES = ['starting', 'running', 'draining'] as const

export interface NewProcess {
  /** A new one when not given. */
  readonly id?: string
  readonly processType: ProcessType
  readonly workerType?: WorkerType
  readonly parentId: string | null
  readonly runnerId: string | null
  readonly pwd: string
  readonly cmd: readonly string[]
  readonly url?: string | null
  readonly crawlId?: string | null
  readonly snapshotId?: string | null
  /** Seconds after which its supervisor ends it. */
  readonly timeout?: number | null
  readonly term?: number | null
  readonly standby?: boolean
  /** What it was started under, the nearest first. */
  readonly startedUnder?: readonly string[]
  readonly containment?: Tier | null
  readonly cgroup?: string | null
  readonly logs?: { readonly stdout: string; readonly stderr: string }
}

/** Announces a process before it is spawned: a crash in between leaves a row, and a marker in the environment, to find it by. */
export async function insertStarting(home: Home, values: NewProcess): Promise<Inserted> {
  return await insert(home, values, {})
}

/** Registers a process that is there already, ourselves, in one statement: no row stays behind of which nobody knows the process. */
export async function insertRunning(home: Home, values: NewProcess, identity: Identity): Promise<Inserted> {
  return await insert(home, values, {
    status: 'running',
    boot_id: identity.bootId,
    pid_namespace: identity.pidNamespace,
    pid: identity.pid,
    start_ticks: identity.startTicks,
    started_at: sql<Date>`now()`,
    heartbeat_at: sql<Date>`now()`,
  })
}

type Inserted = Pick<ProcessRow, 'id' | 'seq' | 'status'>

async function insert(home: Home, values: NewProcess, state: Partial<InsertObject<Tables, 'process'>>): Promise<Inserted> {
  const id = values.id ?? uuidv7()
  const statement = home.db
    .insertInto('process')
    .values({
      id,
      machine_id: home.machineId,
      data_dir: home.dataDir,
      data_dir_id: home.dataDirId,
      parent_id: values.parentId,
      runner_id: values.runnerId,
      process_type: values.processType,
      worker_type: values.workerType ?? '',
      pwd: values.pwd,
      cmd: JSON.stringify(values.cmd),
      url: values.url ?? null,
      crawl_id: values.crawlId ?? null,
      snapshot_id: values.snapshotId ?? null,
      timeout: values.timeout ?? null,
      term: values.term ?? null,
      ...(values.standby === undefined ? {} : { standby: values.standby }),
      ...(values.startedUnder === undefined ? {} : { started_under: [...values.startedUnder] }),
      containment: values.containment ?? null,
      cgroup: values.cgroup ?? null,
      stdout_log: logPath(home, values.logs?.stdout),
      stderr_log: logPath(home, values.logs?.stderr),
      ...state,
    })
    .onConflict((row) => row.column('id').doUpdateSet({ id })) // Ours, from before an answer was lost.
    .returning(['id', 'seq', 'status'])
  return await repeatable(home.db, () => statement.executeTakeFirstOrThrow())
}

/** Relative to the data dir, which may be moved. */
function logPath(home: Home, file: string | undefined): string | null {
  return file === undefined ? null : relative(home.dataDir, file)
}

interface Identity {
  readonly bootId: string
  readonly pidNamespace: string
  readonly pid: number
  readonly startTicks: number
}

/** Completes a row after the spawn. */
export async function markRunning(db: Database, id: string, identity: Identity): Promise<void> {
  const update = sql`
    update process
    set status = 'running', boot_id = ${identity.bootId}, pid_namespace = ${identity.pidNamespace}, pid = ${identity.pid},
        start_ticks = ${identity.startTicks}, started_at = now(), heartbeat_at = now()
    where id = ${id} and status = 'starting'`
  await repeatable(db, () => update.execute(db))
}

/** Notes how a runner contains its hooks. */
export async function recordContainment(db: Database, id: string, { tier, path }: { tier: Tier; path?: string }): Promise<void> {
  const update = sql`update process set containment = ${tier}, cgroup = ${path ?? null} where id = ${id}`
  await repeatable(db, () => update.execute(db))
}

/** From the first signal on; still inside the gate. */
export async function markDraining(db: Database, id: string): Promise<void> {
  const update = sql`update process set status = 'draining' where id = ${id} and status = 'running'`
  await repeatable(db, () => update.execute(db))
}

/**
 * Closes a row whose process the operating system says is gone.
 * @param exit what the parent's wait reported; null when nobody saw the end: the row becomes `lost` and its exit code stays unknown
 */
export async function markEnded(db: Database, id: string, exit: { code: number | null; signal: string | null } | null): Promise<void> {
  const update = sql`
    update process
    set status = ${exit ? 'exited' : 'lost'}, exit_code = ${exit?.code ?? null}, exit_signal = ${exit?.signal ?? null}, ended_at = now()
    where id = ${id} and status in ('starting', 'running', 'draining')`
  await repeatable(db, () => update.execute(db))
}

/** Seconds since a process last said that it is there, and since it was promoted; by the database's clock. */
export const ages = [
  sql<number | null>`extract(epoch from now() - heartbeat_at)`.as('heartbeat_age_s'),
  sql<number | null>`extract(epoch from now() - promoted_at)`.as('tenure_s'),
] as const

/** Rows of this data dir that are not closed, in order of registration, with the age of their heartbeat by the database's clock. */
export async function liveRows(home: Home): Promise<LiveRow[]> {
  const select = home.db
    .selectFrom('process')
    .selectAll()
    .select(ages)
    .where('data_dir_id', '=', home.dataDirId)
    .where('status', 'in', LIVE_STATUSES)
    .orderBy('seq')
  return await repeatable(home.db, () => select.execute())
}

/** Is this a runner, leading or waiting? */
export function isRunner(row: Pick<ProcessRow, 'worker_type'>): boolean {
  return row.worker_type === 'worker_runner' || row.worker_type === 'runner_waiting'
}

/** The identity in a row; null while it is not complete. */
export function identityIn(row: ProcessRow): Identity | null {
  if (row.pid === null || row.start_ticks === null || row.boot_id === null || row.pid_namespace === null) return null
  return { bootId: row.boot_id, pidNamespace: row.pid_namespace, pid: row.pid, startTicks: row.start_ticks }
}

/** What a leader learns when it says that it is alive. */
export interface Beat {
  /** A newer runner waits for this long at most, from when it asked. */
  readonly handoffGraceMs: number | null
}

/**
 * Says that the leader is alive and still leads, and who it is: a hand that wrote something else there would hide it from the next one.
 * `null`: its row is closed or another term began, so it leads no more.
 */
export async function heartbeat(home: Home, id: string, me: Identity): Promise<Beat | null> {
  const { rows } = await sql<{ handoff_grace_s: number | null }>`
    update process
    set heartbeat_at = now(), boot_id = ${me.bootId}, pid_namespace = ${me.pidNamespace}, pid = ${me.pid}, start_ticks = ${me.startTicks}
    where id = ${id} and status in ('running', 'draining')
      and term = (select term from runner_term where data_dir_id = ${home.dataDirId})
    returning handoff_grace_s`.execute(home.db)
  const [row] = rows
  return row ? { handoffGraceMs: row.handoff_grace_s === null ? null : row.handoff_grace_s * 1_000 } : null
}
