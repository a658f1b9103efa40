import { join } from 'node:path'
import { personasIn } from '../../base/persona/files.ts'
import { writeBackup } from '../../db/backup/write-backup.ts'
import type { Archive } from '../archive.ts'
import type { Call } from '../call.ts'

/**
 * Writes all rows into one file, and beside it the list of the files that belong to them.
 * @returns what is in it, and the personas whose logins are among those files
 */
export async function backup(
  { home }: Pick<Archive, 'home'>,
  file: string,
  { signal }: Required<Pick<Call, 'signal'>>,
) {
  const written = await writeBackup(home.databaseUrl, file, signal)
  return { ...written, personas: personasIn(join(home.dataDir, 'personas')) }
}
