import { join } from 'node:path'
import { openDataDir } from '../../base/data-dir.ts'
import { type Upgraded, upgradeCluster } from '../../db/embedded/upgrade.ts'
import type { Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import type { OpenEvent } from '../open/events.ts'
import { copyDatabase } from './copy-database.ts'

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
  const copy = async (from: string, to: string, aside: string) => {
    await copyDatabase(known, { from, to, file: join(aside, 'rows.zst'), dataDir }, signal)
  }
  return await upgradeCluster(dataDir, { programs, tell, copy })
}
