import { sql } from 'kysely'
import type { Database } from './database.ts'

/** The last backup of all rows: when they were read, and into which file. */
export interface LastBackup {
  readonly made_at: Date
  readonly file: string
}

/** Notes that a file has all rows, as of that time. */
export async function noteBackup(db: Database, { made_at, file }: LastBackup): Promise<void> {
  await sql`
    insert into last_backup (made_at, file) values (${made_at}, ${file})
    on conflict (is_only) do update set made_at = excluded.made_at, file = excluded.file`.execute(db)
}

/** Undefined: there has been none. */
export async function lastBackup(db: Database): Promise<LastBackup | undefined> {
  const { rows } = await sql<LastBackup>`select made_at, file from last_backup`.execute(db)
  return rows[0]
}
