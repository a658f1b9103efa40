import { type Selectable, sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { Database } from './database.ts'
import { withRetry } from './retry.ts'
import type { BinaryTable } from './tables.ts'

export type BinaryRow = Selectable<BinaryTable>

/** A program that somebody needs. */
export interface NeededBinary {
  /** As PATH knows it, or an absolute path. */
  readonly name: string
  /** Who may provide it, comma-separated; `env` is what is there, `*` anybody. */
  readonly binproviders: string
  /** The oldest version that will do; '' for any. */
  readonly minVersion: string
}

/** Sees to it that each has a row on this machine; a new one is due at once. */
export async function declareBinaries(db: Database, machineId: string, needed: readonly NeededBinary[]): Promise<void> {
  if (needed.length === 0) return
  const insert = sql`
    insert into "binary" (id, machine_id, name, binproviders, min_version)
    select id, ${machineId}, name, providers, min_version
    from unnest(${needed.map(() => uuidv7())}::uuid[], ${needed.map(({ name }) => name)}::text[],
      ${needed.map(({ binproviders }) => binproviders)}::text[],
      ${needed.map(({ minVersion }) => minVersion)}::text[]) as needed (id, name, providers, min_version)
    where not exists (select 1 from "binary" b where b.machine_id = ${machineId} and b.name = needed.name)
    on conflict (machine_id, name, abspath, version, sha256) do nothing`
  await withRetry(db, () => insert.execute(db))
}

/** The programs of this machine; only of these names, when given. */
export async function binariesOf(db: Database, machineId: string, names?: readonly string[]): Promise<BinaryRow[]> {
  const all = db.selectFrom('binary').selectAll().where('machine_id', '=', machineId).orderBy('name')
  const select = names ? all.where('name', 'in', names.length > 0 ? names : ['']) : all
  return await withRetry(db, () => select.execute())
}

/** A program is not any more where it was found: it is looked up again, at once. */
export async function loseBinary(db: Database, { id, abspath }: BinaryRow): Promise<void> {
  const update = sql`
    with lost as (
      update "binary" set status = 'queued', retry_at = now(), abspath = '', version = '', sha256 = '', attempts = 0,
        moved_by = null, status_changed_at = now(), modified_at = now()
      where id = ${id} and status = 'installed' and abspath = ${abspath} returning id
    )
    insert into transition (model, row_id, from_status, to_status, event)
    select 'binary', id, 'installed', 'queued', 'gone' from lost`
  await withRetry(db, () => update.execute(db))
}

/** A program has come since it was looked up in vain: it is due now, unless somebody is at it. */
export async function lookUpNow(db: Database, { id }: BinaryRow): Promise<void> {
  const update = sql`
    update "binary" set retry_at = now(), modified_at = now()
    where id = ${id} and status = 'queued' and claim_token is null`
  await withRetry(db, () => update.execute(db))
}

/** Somebody says where a program is that is not found: it is looked for there, unless somebody is at it. */
export async function hintBinary(db: Database, machineId: string, name: string, abspath: string): Promise<void> {
  const update = sql`
    update "binary" set abspath = ${abspath}, retry_at = now(), modified_at = now()
    where machine_id = ${machineId} and name = ${name} and status = 'queued' and claim_token is null`
  await withRetry(db, () => update.execute(db))
}
