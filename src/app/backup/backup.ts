import { join, resolve } from 'node:path'
import { personasIn } from '../../browse/persona/files.ts'
import { writeBackup } from '../../db/backup/write-backup.ts'
import { noteBackup } from '../../db/last-backup.ts'
import type { Archive } from '../archive.ts'
import type { Call } from '../call.ts'

/**
 * Writes all rows to one file, and beside it a list of the files that belong to them.
 * @returns its content, and the personas whose logins are among those files
 */
export async function backup(
  { home }: Pick<Archive, 'home'>,
  file: string,
  { signal }: Required<Pick<Call, 'signal'>>,
) {
  const made_at = new Date()
  const { rows, schema, sha256, size } = await writeBackup(home.databaseUrl, resolve(file), signal)
  await noteBackup(home.db, { made_at, file: resolve(file) })
  const record = { type: 'Backup', file, files: `${file}.files`, schema, size, sha256, rows } as const
  return { record, personas: personasIn(join(home.dataDir, 'personas')) }
}
