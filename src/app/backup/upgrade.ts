import { join } from 'node:path'
import { openDataDir } from '../../base/data-dir.ts'
import { inspectBackup } from '../../db/backup/backup-file.ts'
import { readBackup } from '../../db/backup/read-backup.ts'
import { writeBackup } from '../../db/backup/write-backup.ts'
import type { Database } from '../../db/database.ts'
import { type Upgraded, upgradeCluster } from '../../db/embedded/upgrade.ts'
import type { KnownSettings } from '../../hooks/known-settings.ts'
import { settleRestored } from '../../machines/queues.ts'
import type { Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import { believeOlder } from '../open/believe-older.ts'
import type { OpenEvent } from '../open/events.ts'

/**
 * Upgrades the embedded database to the installed major version of PostgreSQL.
 * @param programs the folder of the older version's programs; undefined: they are searched for
 * @returns undefined: it has that version already
 */
export async function upgrade(
  { dataDir: given, known }: Configured,
  { programs }: { readonly programs: string | undefined },
  { signal, tell = () => {} }: Required<Pick<Call, 'signal'>> & Pick<Call<OpenEvent>, 'tell'>,
): Promise<Upgraded | undefined> {
  const dataDir = openDataDir(given, 'never')
  const copy = async (from: string, to: string, aside: string) =>
    await copyDatabase(known, { from, to, file: join(aside, 'rows.zst') }, dataDir, signal)
  return await upgradeCluster(dataDir, { programs, tell, copy })
}

/** Copies by a backup, which knows how many rows there must be. */
async function copyDatabase(
  known: KnownSettings,
  { from, to, file }: { readonly from: string; readonly to: string; readonly file: string },
  dataDir: string,
  stop: AbortSignal,
): Promise<void> {
  await writeBackup(from, file, stop)
  const backup = await inspectBackup(file)
  const settle = async (tx: Database) => {
    await settleRestored(tx)
    await believeOlder(known, dataDir)(tx, backup.header.schema)
  }
  await readBackup(to, backup, { settle, isOurs: true, stop })
}
