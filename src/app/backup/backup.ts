import { join, resolve } from 'node:path'
import { oneLine } from '../../base/clean.ts'
import { messageOf, UsageError } from '../../base/errors.ts'
import { uuidv7 } from '../../base/ids.ts'
import { personasIn } from '../../browse/persona/files.ts'
import { checkBackup } from '../../db/backup/check-backup.ts'
import { writeBackup } from '../../db/backup/write-backup.ts'
import { beginBackup, endBackup, failBackup, forgetBackups } from '../../db/backups.ts'
import type { Archive } from '../archive.ts'
import type { Call } from '../call.ts'

export interface BackupInput {
  readonly file: string
  /** The row of the process that does it. */
  readonly processId: string
  /** Nobody asked for this one: the schedule did. */
  readonly isScheduled: boolean
}

/**
 * Writes all rows to one file, and beside it a list of the files that belong to them; then reads it again as a restore
 * would. Its row says whether it counts: one that was killed or failed does not.
 * @returns its content, and the personas whose logins are among those files
 */
export async function backup(
  { home }: Pick<Archive, 'home'>,
  { file, processId, isScheduled }: BackupInput,
  { signal }: Required<Pick<Call, 'signal'>>,
) {
  const id = uuidv7()
  const path = resolve(file)
  await beginBackup(home, { id, processId, file: path, isScheduled })
  try {
    const { rows, schema, sha256, size } = await writeBackup(home.databaseUrl, path, signal)
    await checkBackup(path, signal)
    await endBackup(home.db, { id, size, sha256, checked: 'read' })
    const record = { type: 'Backup', file, files: `${file}.files`, schema, size, sha256, rows } as const
    return { record, personas: personasIn(join(home.dataDir, 'personas')) }
  } catch (error) {
    // An interrupted one has changed nothing, and a name that was refused is the matter of who typed it.
    const isNothing = signal.aborted || (error instanceof UsageError && !isScheduled)
    const noted = isNothing ? forgetBackups(home.db, [id]) : failBackup(home.db, id, oneLine(messageOf(error)))
    await noted.catch(() => {}) // Its row stays open then, and the next backup closes it.
    throw error
  }
}
