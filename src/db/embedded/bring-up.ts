import { lstatSync, readdirSync, statSync } from 'node:fs'
import { AppError } from '../../base/errors.ts'
import { FileLock } from '../../base/file-lock.ts'
import type { TellDatabase } from '../events.ts'
import { serverAccount } from './account.ts'
import { type Binaries, findBinaries } from './binaries.ts'
import { type Cluster, majorVersionOf } from './cluster.ts'
import { initialise, removeLeftovers } from './initialise.ts'
import { refuseMoved } from './moved.ts'
import { networkFileSystemOf } from './network-file-system.ts'
import { isUnderWay, servingAddress, whatItDoes } from './postmaster.ts'
import { startServer } from './start.ts'
import { finishSwap } from './upgrade-swap.ts'

/** How long one step waits in line behind processes that start or stop the server. */
const LINE_MS = 1_000

/** The result of one step. */
export interface Step {
  readonly how: 'adopted' | 'started' | 'initialised'
  /** Why the server does not accept connections yet: then another step is due after a pause. */
  readonly missing?: string
}

/**
 * One step towards a running server, one process at a time: whoever comes second finds it running. It ends soon, and
 * releases the lock: a long recovery is awaited outside. Throws AppError or a file-system error; the cluster is then
 * unchanged.
 */
export async function bringUp(cluster: Cluster, tell: TellDatabase): Promise<Step> {
  const lock = new FileLock(cluster.startLock)
  try {
    if (!(await lock.exclusiveWithin(LINE_MS)))
      return { how: 'adopted', missing: `another process starts or stops it, and holds ${cluster.startLock}` }
    if (await servingAddress(cluster)) return { how: 'adopted' }
    if (await isUnderWay(cluster)) return { how: 'adopted', missing: whatItDoes(cluster) }
    removeLeftovers(cluster)
    finishSwap(cluster)
    refuseMoved(cluster)
    const version = majorVersionOf(cluster)
    if (version === null) refuseForeign(cluster)
    mindNetwork(cluster, version !== null, tell)
    const account = serverAccount(version === null ? undefined : statSync(cluster.pgdata))
    const binaries = findBinaries(account)
    if (version === null) await initialise(cluster, binaries, account, lock, tell)
    else refuseOtherVersion(cluster, version, binaries)
    const missing = await startServer(cluster, binaries, account)
    return { how: version === null ? 'initialised' : 'started', ...(missing !== undefined && { missing }) }
  } finally {
    lock.release()
  }
}

/**
 * An empty directory may become the cluster; anything else that is not a cluster is somebody's, or what is left of one.
 */
function refuseForeign(cluster: Cluster): void {
  const found = lstatSync(cluster.pgdata, { throwIfNoEntry: false })
  if (!found || (found.isDirectory() && readdirSync(cluster.pgdata).length === 0)) return
  throw new AppError(`${cluster.pgdata} exists but holds no PostgreSQL cluster`, {
    hint: found.isSymbolicLink()
      ? 'It is a link: bring back what it leads to, or remove it to start afresh.'
      : 'Move it away to start afresh.',
  })
}

/**
 * A power cut, or a second machine, may damage a database on a network file system: no new one is created there, and an
 * existing one causes a warning.
 */
function mindNetwork({ dataDir, pgdata }: Cluster, exists: boolean, tell: TellDatabase): void {
  const place = exists ? pgdata : dataDir
  const fileSystem = networkFileSystemOf(place)
  if (fileSystem === undefined) return
  if (!exists)
    throw new AppError(`${place} is on a network file system (${fileSystem}), where a database is not safe`, {
      hint: 'Use a --data-dir on a local disk, or set DATABASE_URL to a PostgreSQL server.',
    })
  tell({ event: 'database on network file system', place, fileSystem })
}

/** Throws AppError when the files of a cluster are of another major version than what is installed. */
export function refuseOtherVersion(cluster: Cluster, version: number, binaries: Binaries): void {
  if (version === binaries.majorVersion) return
  throw new AppError(
    `The cluster in ${cluster.pgdata} was made by PostgreSQL ${version}, ` +
      `but PostgreSQL ${binaries.majorVersion} is installed`,
    {
      hint:
        version < binaries.majorVersion
          ? `archivebox-ts db upgrade moves it to ${binaries.majorVersion}.`
          : `Use the release of archivebox-ts that came with PostgreSQL ${version}.`,
    },
  )
}
