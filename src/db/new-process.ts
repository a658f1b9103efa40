import { relative } from 'node:path'
import { type InsertObject, type QueryCreator, sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { Database } from './database.ts'
import type { Home } from './home.ts'
import type { ProcessIdentity } from './process-identity.ts'
import type { ProcessType, Tables, Tier, WorkerType } from './tables.ts'

// The row of a process as it is inserted; processes.ts sends it.

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
  /** Which rows a runner works on, as `machines/scope.ts` has it. */
  readonly scope?: object
  /** What it was started under, the nearest first. */
  readonly startedUnder?: readonly string[]
  readonly containment?: Tier | null
  readonly cgroup?: string | null
  readonly logs?: { readonly stdout: string; readonly stderr: string }
}

export type NewRow = InsertObject<Tables, 'process'>

/** The row of an existing process, ourselves, which is written at once: none is left without a known process. */
export function runningRow(home: Home, values: NewProcess, identity: ProcessIdentity): NewRow {
  return { ...rowOf(home, values), ...asRunning(identity) }
}

/** The beginning of a statement that also registers a process. */
export function withRow(db: Database, row: NewRow): QueryCreator<Tables> {
  return db.with('registered', (also) => insertion(also, row)) as QueryCreator<Tables>
}

/** The statement that inserts a row, to be completed. */
export function insertion(db: QueryCreator<Tables>, row: NewRow) {
  return db
    .insertInto('process')
    .values(row)
    .onConflict((known) => known.column('id').doUpdateSet({ id: row.id })) // Our own row, when an answer was lost.
}

/** The columns of a live process. */
export function asRunning({ bootId, pidNamespace, pid, startTicks }: ProcessIdentity) {
  return {
    status: 'running' as const,
    boot_id: bootId,
    pid_namespace: pidNamespace,
    pid,
    start_ticks: startTicks,
    started_at: sql<Date>`now()`,
    heartbeat_at: sql<Date>`now()`,
  }
}

/** The row of a process that is about to be started. */
export function rowOf(home: Home, values: NewProcess): NewRow {
  return {
    id: values.id ?? uuidv7(),
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
    scope: values.scope === undefined ? null : JSON.stringify(values.scope),
    containment: values.containment ?? null,
    cgroup: values.cgroup ?? null,
    stdout_log: logPath(home, values.logs?.stdout),
    stderr_log: logPath(home, values.logs?.stderr),
  }
}

/** Relative to the data dir, which may be moved. */
function logPath(home: Home, file: string | undefined): string | null {
  return file === undefined ? null : relative(home.dataDir, file)
}
