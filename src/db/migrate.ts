import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { AppError, codeOf } from '../base/errors.ts'
import { asset } from '../base/package-root.ts'
import type { Database } from './database.ts'

const LOCK = 7_241_201 // an arbitrary, fixed key: one migration at a time per database

interface Migration {
  readonly version: number
  readonly name: string
  readonly file: string
}

/** The migrations that ship with this program: `NNNN_name.sql`, in order, never edited once released. */
export function migrations(): Migration[] {
  const folder = asset('migrations', 'db/migrations')
  return readdirSync(folder)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => ({ version: Number(file.slice(0, 4)), name: file.slice(5, -4), file: join(folder, file) }))
}

/** The newest migration that this database has; 0 for an empty one. */
export async function schemaVersion(db: Database): Promise<number> {
  try {
    const { rows } = await sql<{ version: number | null }>`select max(version) as version from schema_migration`.execute(db)
    return rows[0]?.version ?? 0
  } catch (error) {
    if (codeOf(error) === '42P01') return 0 // no such table: nothing was migrated yet
    throw error
  }
}

/**
 * Brings the schema up to date; safe to call from many processes at once. Returns the names that were applied.
 * Throws AppError when the database was migrated by a newer program: an older one must not write to it.
 */
export async function migrate(db: Database): Promise<string[]> {
  const known = migrations()
  const newest = known.at(-1)?.version ?? 0
  const current = await schemaVersion(db)
  if (current > newest) {
    throw new AppError(`the database has schema version ${current}, this program knows ${newest}`, {
      hint: 'it was used by a newer archivebox-ts: install that version, or use another database',
    })
  }
  if (current === newest) return []
  return await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx)
    await sql`create table if not exists schema_migration (version integer primary key, name text not null, applied_at timestamptz not null default now())`.execute(
      tx,
    )
    const since = await schemaVersion(tx as Database)
    const applied: string[] = []
    for (const migration of known.filter(({ version }) => version > since)) {
      await sql.raw(readFileSync(migration.file, 'utf8')).execute(tx)
      await sql`insert into schema_migration (version, name) values (${migration.version}, ${migration.name})`.execute(tx)
      applied.push(migration.name)
    }
    return applied
  })
}
