import { type Selectable, sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { Database } from './database.ts'
import { withRetry } from './retry.ts'
import type { BinaryTable } from './tables.ts'

export type BinaryRow = Selectable<BinaryTable>

/** A program that plugins need. */
export interface NeededBinary {
  /** A name for PATH, or an absolute path. */
  readonly name: string
  /** The allowed providers, comma-separated; `env`: what is installed, `*`: any. */
  readonly binproviders: string
  /** The oldest version that suffices; '' for any. */
  readonly minVersion: string
}

/** Makes sure that each has a row on this machine; a new one is due at once. */
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

/** The programs of this machine, optionally only those with these names. */
export async function binariesOf(db: Database, machineId: string, names?: readonly string[]): Promise<BinaryRow[]> {
  const all = db.selectFrom('binary').selectAll().where('machine_id', '=', machineId).orderBy('name')
  const select = names ? all.where('name', 'in', names.length > 0 ? names : ['']) : all
  return await withRetry(db, () => select.execute())
}

/**
 * The programs with these names, and whether any of this machine is to be looked up: due, or claimed by somebody who
 * looks it up.
 */
export async function binariesToCheck(
  db: Database,
  machineId: string,
  names: readonly string[],
): Promise<{ readonly rows: BinaryRow[]; readonly areAnyDue: boolean }> {
  const select = sql<BinaryRow & { is_due: boolean; is_named: boolean }>`
    select "binary".*, retry_at <= now() or claim_token is not null as is_due,
      name = any(${names}::text[]) as is_named
    from "binary" where machine_id = ${machineId} order by name`
  const { rows } = await withRetry(db, () => select.execute(db))
  return { rows: rows.filter((row) => row.is_named), areAnyDue: rows.some((row) => row.is_due) }
}

/** The number of programs in each status. Counted directly: a machine has a few dozen. */
export async function binaryCounts(db: Database): Promise<Map<string, { readonly rows: number }>> {
  const { rows } = await sql<{ status: string; rows: number }>`
    select status, count(*) as rows from "binary" group by status`.execute(db)
  return new Map(rows.map(({ status, rows }) => [status, { rows }]))
}
