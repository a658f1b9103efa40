import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { schemaVersion, UNFINISHED_MOVE } from '../migrate.ts'

/** Whose copy a database holds that is not in use yet. */
export interface MoveMark {
  readonly dataDirId: string
}

const nameOf = ({ dataDirId }: MoveMark): string => `move of ${dataDirId}`

/**
 * Marks a database as a copy that is not in use yet: as if a newer program had changed its schema, so that every
 * program leaves it alone, older ones, too.
 */
export async function markCopy(tx: Database, mark: MoveMark): Promise<void> {
  await sql`insert into schema_migration (version, name) values (${UNFINISHED_MOVE}, ${nameOf(mark)})`.execute(tx)
}

/** Removes that mark. @returns whether there was one */
export async function unmark(db: Database, mark: MoveMark): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from schema_migration where version = ${UNFINISHED_MOVE} and name = ${nameOf(mark)}`.execute(db)
  return numAffectedRows === 1n
}

/** Whether a database, empty or not, has that mark. */
export async function isMarked(db: Database, mark: MoveMark): Promise<boolean> {
  if ((await schemaVersion(db)) !== UNFINISHED_MOVE) return false
  const { rows } = await sql`
    select from schema_migration where version = ${UNFINISHED_MOVE} and name = ${nameOf(mark)}`.execute(db)
  return rows.length > 0
}
