import { sql } from 'kysely'
import type { Database } from './database.ts'
import type { Home } from './home.ts'
import { IS_LIVE } from './processes.ts'
import { transact } from './retry.ts'

// The table `backup`: backups and attempts at them. A file is one of ours only as long as its row says so.

/** How a backup was checked: all of it was read, or restored into a database for the purpose. */
export type Checked = 'read' | 'restored'

/** A backup of all rows, or an attempt at one. */
export interface BackupRow {
  readonly id: string
  /** Where its file is; null: not known. */
  readonly data_dir_id: string | null
  readonly file: string
  readonly is_scheduled: boolean
  readonly status: 'running' | 'succeeded' | 'failed'
  /** It has the rows of this moment. */
  readonly begun_at: Date
  /** How long ago that was, in seconds. */
  readonly age_s: number
  readonly ended_at: Date | null
  readonly size: number | null
  readonly sha256: string | null
  readonly checked: Checked | null
  /** Of a failed one. */
  readonly why: string | null
}

/** What is known of backups. */
export interface BackupsKnown {
  /** The newest backup. */
  readonly last: BackupRow | null
  /** The newest attempt, when it failed after that. */
  readonly failed: BackupRow | null
}

const COLUMNS = sql`
  id, data_dir_id, file, is_scheduled, status, begun_at, extract(epoch from now() - begun_at)::float8 as age_s,
  ended_at, size, sha256, checked, why`

interface NewBackup {
  readonly id: string
  readonly processId: string
  readonly file: string
}

/** Notes that this process begins a backup that somebody has asked for. */
export async function beginBackup({ db, dataDirId }: Home, { id, processId, file }: NewBackup): Promise<void> {
  await sql`
    insert into backup (id, data_dir_id, process_id, file, is_scheduled)
    values (${id}, ${dataDirId}, ${processId}, ${file}, false)`.execute(db)
}

/**
 * The same for one that is due, once for all data dirs of the database: not while another makes one, unless that is
 * lost, nor when another has made one since.
 * @param last the newest backup, after which it is due
 * @returns whether it begins
 */
export async function beginDueBackup(
  { db, dataDirId }: Home,
  { id, processId, file }: NewBackup,
  last: Pick<BackupRow, 'id'> | null,
): Promise<boolean> {
  return await transact(db, async (tx) => {
    await sql`lock table backup in share row exclusive mode`.execute(tx)
    const { rows } = await sql`
      insert into backup (id, data_dir_id, process_id, file, is_scheduled)
      select ${id}, ${dataDirId}, ${processId}, ${file}, true
      where (select b.id from backup b where b.status = 'succeeded' order by b.begun_at desc limit 1)
          is not distinct from ${last?.id ?? null}::uuid
        and not exists (
          select from backup b join node on node.id = b.data_dir_id
          where b.status = 'running' and b.is_scheduled and node.id <> ${dataDirId} and node.state <> 'lost')
      on conflict (id) do update set file = excluded.file
      returning id`.execute(tx)
    return rows.length === 1
  })
}

/** The file is complete, and was checked. It replaces earlier ones in the same file. */
export async function endBackup(
  db: Database,
  { id, size, sha256, checked }: Pick<BackupRow, 'id' | 'size' | 'sha256' | 'checked'>,
): Promise<void> {
  await sql`
    with done as (
      update backup set status = 'succeeded', ended_at = now(), size = ${size}, sha256 = ${sha256}, checked = ${checked}
      where id = ${id} returning *)
    delete from backup b using done
    where b.file = done.file and b.data_dir_id = done.data_dir_id and b.id <> done.id
      and b.status <> 'running'`.execute(db)
}

/** @param why in one line */
export async function failBackup(db: Database, id: string, why: string): Promise<void> {
  await sql`
    update backup set status = 'failed', ended_at = now(), why = ${why}
    where id = ${id} and status = 'running'`.execute(db)
}

/** Forgets backups and attempts. */
export async function forgetBackups(db: Database, ids: readonly string[]): Promise<void> {
  await sql`delete from backup where id = any(${ids}::uuid[])`.execute(db)
}

/** The newest backup, and what failed after it. */
export async function knownBackups(db: Database): Promise<BackupsKnown> {
  const { rows } = await sql<BackupRow>`
    select ${COLUMNS}
    from (values ('succeeded'), ('failed')) each_end (wanted)
    cross join lateral (select * from backup where status = wanted order by begun_at desc limit 1) newest`.execute(db)
  const last = rows.find(({ status }) => status === 'succeeded') ?? null
  const failed = rows.find(({ status }) => status === 'failed') ?? null
  return { last, failed: failed && (!last || failed.begun_at > last.begun_at) ? failed : null }
}

/** What is recorded of a data dir's backups that have ended, the newest first. */
export async function endedBackups({ db, dataDirId }: Home): Promise<BackupRow[]> {
  const { rows } = await sql<BackupRow>`
    select ${COLUMNS} from backup where data_dir_id = ${dataDirId} and status in ('succeeded', 'failed')
    order by begun_at desc`.execute(db)
  return rows
}

/**
 * Backups of a data dir whose process is gone: it was killed. They become failed ones.
 * @param ownId of the process that asks, which makes none now
 */
export async function failKilledBackups({ db, dataDirId }: Home, ownId: string, why: string): Promise<BackupRow[]> {
  const { rows } = await sql<BackupRow>`
    update backup set status = 'failed', ended_at = now(), why = ${why}
    where data_dir_id = ${dataDirId} and status = 'running'
      and (process_id = ${ownId} or not exists (
        select from process where process.id = backup.process_id and ${IS_LIVE}))
    returning ${COLUMNS}`.execute(db)
  return rows
}
