import { existsSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { left } from '../../base/disk-space.ts'
import { UsageError } from '../../base/errors.ts'
import type { BackupFile } from '../../db/backup/backup-file.ts'
import { readBackup } from '../../db/backup/read-backup.ts'
import { clusterOf } from '../../db/embedded/cluster.ts'
import { removeCluster } from '../../db/embedded/initialise.ts'
import { stopServer } from '../../db/embedded/server.ts'
import type { Configured } from '../archive.ts'
import { openBareDatabase } from '../open/bare-database.ts'

const MB = 1_000_000
/** A restored database and its log, beside the size of the one that was saved. */
const ROOM = 2

/**
 * Restores a backup into an embedded database of its own, which is removed again. Throws when it cannot be restored.
 * @param bytes the size of the database that was saved
 * @returns false: there is no room for that
 */
export async function tryRestore(
  configured: Configured,
  backup: BackupFile,
  bytes: number,
  signal: AbortSignal,
): Promise<boolean> {
  const { DISK_FLOOR } = configured.settings.config
  if (left(dirname(backup.path)).bytes < ROOM * bytes + DISK_FLOOR * MB) return false
  const dataDir = scratchOf(backup.path)
  try {
    const there = await openBareDatabase({ ...configured, dataDir, databaseUrl: undefined }, 'if-empty', { signal })
    try {
      await readBackup(there.url, backup, { settle: async () => {}, isOurs: true, stop: signal })
    } finally {
      await there.close()
    }
  } finally {
    await removeScratch(backup.path)
  }
  return true
}

/**
 * Refuses a trial whose folder is there already: it may be somebody's, and the trial removes it. Throws UsageError; the
 * schedule removes what its own killed attempts have left instead.
 */
export function refuseScratch(file: string): void {
  const folder = scratchOf(file)
  if (existsSync(folder))
    throw new UsageError(
      `${folder} is in the way of the trial restore`,
      'move it away, or remove what is left of a trial',
    )
}

/** Removes the database in which a backup was tried, and its server, if one is left of a killed attempt. */
export async function removeScratch(file: string): Promise<void> {
  const dataDir = scratchOf(file)
  if (!existsSync(dataDir)) return
  await stopServer(dataDir, { force: true })
  removeCluster(clusterOf(dataDir).pgdata)
  rmSync(dataDir, { recursive: true, force: true })
}

const scratchOf = (file: string) => `${file}.check`
