import { dataDirId } from '../../base/data-dir-id.ts'
import { isTrusted } from '../../base/trusted-settings.ts'
import type { BackupFile } from '../../db/backup/backup-file.ts'
import { type LeftOut, type LeftOutSetting, type MayHave, settingsOfRows } from '../../db/backup/left-out.ts'
import { readBackup } from '../../db/backup/read-backup.ts'
import type { Database } from '../../db/database.ts'
import type { KnownSettings } from '../../hooks/known-settings.ts'
import { settleRestored } from '../../machines/queues.ts'
import type { Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import type { BareDatabase } from '../open/bare-database.ts'
import { trustSettings } from '../trust-given.ts'

export interface RestoreInput {
  readonly file: string
  /** The content. */
  readonly backup: BackupFile
  /** The backup is trusted: its settings of programs are restored, too. */
  readonly isMine: boolean
}

/**
 * Restores the rows of a backup into an empty archive, all of them or none. Settings that control programs are left
 * out, unless they were set here before.
 */
export async function restore(
  { known, databaseUrl }: Configured,
  { url, dataDir }: Pick<BareDatabase, 'url' | 'dataDir'>,
  { file, backup, isMine }: RestoreInput,
  { signal }: Required<Pick<Call, 'signal'>>,
) {
  const mayHave: MayHave = (row, name, value) =>
    known.whyNotInRow(row, name, value, (...setting) => isTrusted(dataDir, ...setting)) === undefined
  const settle = async (tx: Database) => {
    await settleRestored(tx)
    if (isMine) trustSettings(known, dataDir, await settingsOfRows(tx))
  }
  const isOurs = databaseUrl === undefined
  const here = await dataDirId(dataDir, () => {}) // Its server is up.
  const options = { settle, mayHave: isMine ? undefined : mayHave, isOurs, here, stop: signal }
  const left = await readBackup(url, backup, options)
  const { schema, made_at, absent = [] } = backup.header
  return {
    type: 'Backup',
    file,
    schema,
    made_at,
    rows: backup.trailer.rows,
    absent,
    left_out: shown(known, left),
  } as const
}

/** What was left out, without secrets. */
function shown(known: KnownSettings, left: LeftOut): LeftOut {
  const masked = ({ name, value }: LeftOutSetting) => (known.isSecret(name) ? '***' : value)
  return { ...left, settings: left.settings.map((setting) => ({ ...setting, value: masked(setting) })) }
}
