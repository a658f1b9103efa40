import { lstatSync, readdirSync, statSync } from 'node:fs'
import { AppError } from '../../base/errors.ts'
import { FileLock } from '../../base/file-lock.ts'
import { serverAccount } from './account.ts'
import { type Binaries, findBinaries } from './binaries.ts'
import { type Cluster, majorVersionOf } from './cluster.ts'
import { initialise, removeLeftovers } from './initialise.ts'
import { networkFileSystemOf } from './network-file-system.ts'
import { servingAddress } from './postmaster.ts'
import { startServer } from './start.ts'

/**
 * Makes the server run, one process at a time: whoever comes second finds it running. Says how it came up.
 * Throws AppError or a file-system error; the cluster is then as it was.
 */
export async function bringUp(cluster: Cluster, say: (line: string) => void): Promise<'adopted' | 'started' | 'initialised'> {
  const lock = new FileLock(cluster.startLock)
  try {
    await lock.exclusive()
    if (await servingAddress(cluster)) return 'adopted'
    removeLeftovers(cluster)
    const version = majorVersionOf(cluster)
    if (version === null) refuseForeign(cluster)
    mindNetwork(cluster, version !== null, say)
    const account = serverAccount(version === null ? undefined : statSync(cluster.pgdata))
    const binaries = findBinaries(account)
    if (version === null) await initialise(cluster, binaries, account, lock, say)
    else refuseOtherVersion(cluster, version, binaries)
    await startServer(cluster, binaries, account)
    return version === null ? 'initialised' : 'started'
  } finally {
    lock.release()
  }
}

/** An empty directory may become the cluster; anything else that is no cluster is somebody's, or all that is left of one. */
function refuseForeign(cluster: Cluster): void {
  const found = lstatSync(cluster.pgdata, { throwIfNoEntry: false })
  if (!found || (found.isDirectory() && readdirSync(cluster.pgdata).length === 0)) return
  throw new AppError(`${cluster.pgdata} exists but holds no PostgreSQL cluster`, {
    hint: found.isSymbolicLink()
      ? 'It is a link: bring back what it leads to, or remove it to start afresh.'
      : 'Move it away to start afresh.',
  })
}

/** A power cut, or a second machine, may spoil a database on the file system of another machine: none is made there, and an old one is warned of. */
function mindNetwork({ dataDir, pgdata }: Cluster, exists: boolean, say: (line: string) => void): void {
  const name = networkFileSystemOf(exists ? pgdata : dataDir)
  if (name === undefined) return
  const why = `${exists ? pgdata : dataDir} lies on a network file system (${name}), where a database is not safe`
  if (!exists) throw new AppError(why, { hint: 'Use a --data-dir on a local disk, or set DATABASE_URL to a PostgreSQL server.' })
  say(`careful: ${why}`)
}

function refuseOtherVersion(cluster: Cluster, version: number, binaries: Binaries): void {
  if (version === binaries.majorVersion) return
  throw new AppError(
    `The cluster in ${cluster.pgdata} was made by PostgreSQL ${version}, but PostgreSQL ${binaries.majorVersion} is installed`,
    {
      hint: `Use the release of archivebox-ts that came with PostgreSQL ${version}, or dump the data with ${version} and restore it into a new data directory.`,
    },
  )
}
