import { existsSync } from 'node:fs'
import { UsageError } from '../../base/errors.ts'
import { clusterOf } from '../../db/embedded/cluster.ts'
import type { Home } from '../../db/home.ts'
import { schemaVersion, WITH_NODES } from '../../db/migrate.ts'
import { isOfOthers } from '../../db/nodes.ts'
import type { Configured } from '../archive.ts'
import { sourceOfDatabase } from '../settings/database-source.ts'

/**
 * Throws UsageError where a data dir with a database of its own is about to join that of others: its settings are those
 * of the archive that was restored into it. Asked before the schema is changed.
 */
export async function refuseOthersDatabase(
  configured: Configured,
  home: Pick<Home, 'db' | 'dataDir' | 'dataDirId'>,
): Promise<void> {
  const cluster = clusterOf(home.dataDir)
  if (!existsSync(cluster.pgdata) || (await schemaVersion(home.db)) < WITH_NODES || !(await isOfOthers(home))) return
  const where = sourceOfDatabase(configured)?.where
  throw new UsageError(
    `${home.dataDir} has a database of its own, and DATABASE_URL, set ${where}, names that of other data dirs`,
    `remove that setting; to leave what it has behind, and join the others: move ${cluster.pgdata} away`,
  )
}
