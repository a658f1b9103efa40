import { failpoint } from '../../base/failpoint.ts'
import { inspectBackup } from '../../db/backup/backup-file.ts'
import type { MoveMark } from '../../db/backup/move-mark.ts'
import { readBackup, requireRows } from '../../db/backup/read-backup.ts'
import { writeBackup } from '../../db/backup/write-backup.ts'
import type { Database } from '../../db/database.ts'
import type { KnownSettings } from '../../hooks/known-settings.ts'
import { settleRestored } from '../../machines/queues.ts'
import { believeOlder } from '../open/believe-older.ts'

export interface CopyInput {
  readonly from: string
  readonly to: string
  /** Has the rows meanwhile. */
  readonly file: string
  readonly dataDir: string
  /** The new database belongs to somebody else, and is marked until it is in use; undefined: it is our own. */
  readonly mark?: MoveMark
  readonly onTable?: (name: string, rows: number) => void
}

/**
 * Copies all rows of a data dir from one database to another, by a backup, which knows how many there must be. All of
 * them are there afterwards, or none. @returns how many each table has
 */
export async function copyDatabase(
  known: KnownSettings,
  { from, to, file, dataDir, mark, onTable }: CopyInput,
  stop: AbortSignal,
): Promise<Readonly<Record<string, number>>> {
  await writeBackup(from, file, stop, { extent: 'all' })
  await failpoint('move.read')
  const backup = await inspectBackup(file)
  const { rows } = backup.trailer
  const settle = async (tx: Database) => {
    await requireRows(tx, rows)
    await settleRestored(tx)
    await believeOlder(known, dataDir)(tx, backup.header.schema)
  }
  await readBackup(to, backup, {
    ...{ settle, isOurs: mark === undefined, extent: 'all', stop },
    ...(mark && { mark }),
    ...(onTable && { onTable }),
  })
  return rows
}
