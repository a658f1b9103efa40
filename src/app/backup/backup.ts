import { join, resolve } from 'node:path'
import { oneLine } from '../../base/clean.ts'
import { messageOf, UsageError } from '../../base/errors.ts'
import { uuidv7 } from '../../base/ids.ts'
import { personasIn } from '../../browse/persona/files.ts'
import { checkBackup } from '../../db/backup/check-backup.ts'
import { writeBackup } from '../../db/backup/write-backup.ts'
import { beginBackup, endBackup, failBackup, forgetBackups } from '../../db/backups.ts'
import { serverSize } from '../../db/server-identity.ts'
import type { Archive, Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import { removeRemains } from './own-files.ts'
import { refuseScratch, tryRestore } from './try-restore.ts'

export interface BackupInput {
  readonly file: string
  /** The row of the process that does it. */
  readonly processId: string
  /** The row that the schedule has written for it; undefined: somebody makes it by hand. */
  readonly scheduled?: string | undefined
  /** Afterwards it is restored into a database that is made with these settings, if there is room. */
  readonly tryIn?: Configured | undefined
}

/**
 * Writes all rows to one file, and beside it a list of the files that belong to them; then reads it again as a restore
 * would, and may restore it on trial. Its row says whether it counts: one that was killed or failed does not.
 * @returns its content, and the personas whose logins are among those files
 */
export async function backup(
  { home }: Pick<Archive, 'home'>,
  { file, processId, scheduled, tryIn }: BackupInput,
  { signal }: Required<Pick<Call, 'signal'>>,
) {
  const id = scheduled ?? uuidv7()
  const path = resolve(file)
  if (tryIn !== undefined) refuseScratch(path)
  if (scheduled === undefined) {
    await removeRemains({ file: path, is_scheduled: false })
    await beginBackup(home, { id, processId, file: path })
  }
  try {
    const written = await writeBackup(home.databaseUrl, path, signal, { node: home.dataDirId })
    const { rows, schema, sha256, size, absent = [] } = written
    const whole = await checkBackup(path, signal)
    const { size: bytes } = await serverSize(home.db)
    const isRestored = tryIn !== undefined && (await tryRestore(tryIn, whole, bytes, signal))
    const checked = isRestored ? 'restored' : 'read'
    await endBackup(home.db, { id, size, sha256, checked })
    const record = {
      type: 'Backup',
      file,
      files: `${file}.files`,
      schema,
      size,
      sha256,
      checked,
      rows,
      absent,
    } as const
    return { record, personas: personasIn(join(home.dataDir, 'personas')) }
  } catch (error) {
    if (scheduled !== undefined) await removeRemains({ file: path, is_scheduled: true }).catch(() => {})
    // An interrupted one has changed nothing, and a name that was refused is the matter of who typed it.
    const isNothing = signal.aborted || (error instanceof UsageError && scheduled === undefined)
    const noted = isNothing ? forgetBackups(home.db, [id]) : failBackup(home.db, id, oneLine(messageOf(error)))
    await noted.catch(() => {}) // Its row stays open then, and the next backup closes it.
    throw error
  }
}
