import { statSync } from 'node:fs'
import { sleep } from '../../base/abort.ts'
import { AppError } from '../../base/errors.ts'
import { FileLock } from '../../base/file-lock.ts'
import { type Account, serverAccount } from './account.ts'
import { addressOf, urlOf } from './address.ts'
import { type Binaries, findBinaries } from './binaries.ts'
import { refuseOtherVersion } from './bring-up.ts'
import { type Cluster, clusterOf, majorVersionOf } from './cluster.ts'
import { isUnderWay, servingAddress } from './postmaster.ts'
import { startServer } from './start.ts'
import { shutDown } from './stop.ts'
import { finishSwap } from './upgrade-swap.ts'
import { clientsOf, inUse } from './users.ts'

const LOOK_MS = 100

/** Where whoever copies all rows keeps them meanwhile. */
export const asideOf = ({ pgdata }: Cluster): string => `${pgdata}.rows`

/** The cluster of a data dir that nobody else uses or enters, and how to run its server for a while. */
export interface Alone {
  readonly cluster: Cluster
  readonly whileRunning: <T>(work: (url: string) => Promise<T>) => Promise<T>
}

/** The cluster of a data dir that nobody else starts, stops or replaces meanwhile. */
export interface Held {
  readonly cluster: Cluster
  /** The major version of its files. */
  readonly version: number
  readonly account: Account | undefined
  /** The programs that are installed. */
  readonly binaries: Binaries
  readonly startLock: FileLock
  /** Stops its server, and lets nobody enter until the end. Throws AppError when somebody uses it. */
  readonly takeAlone: () => Promise<void>
}

/** Does `work` while nobody else starts the server of a data dir. Throws AppError without a cluster. */
export async function withClusterHeld<T>(dataDir: string, work: (held: Held) => Promise<T>): Promise<T> {
  const cluster = clusterOf(dataDir)
  const startLock = new FileLock(cluster.startLock)
  const users = new FileLock(cluster.usersLock)
  try {
    await startLock.exclusive()
    finishSwap(cluster)
    const version = majorVersionOf(cluster)
    if (version === null) throw new AppError('there is no embedded database in this data dir')
    const account = serverAccount(statSync(cluster.pgdata))
    const binaries = findBinaries(account)
    return await work({ cluster, version, account, binaries, startLock, takeAlone: () => takeAlone(cluster, users) })
  } finally {
    users.release()
    startLock.release()
  }
}

/** Does `work` while nobody else uses the cluster of a data dir. Throws AppError when somebody does, or without one. */
export async function withClusterAlone<T>(dataDir: string, work: (alone: Alone) => Promise<T>): Promise<T> {
  return await withClusterHeld(dataDir, async ({ cluster, version, account, binaries, takeAlone }) => {
    refuseOtherVersion(cluster, version, binaries)
    await takeAlone()
    return await work({
      cluster,
      whileRunning: async (part) => await whileRunning(cluster, binaries, account, part),
    })
  })
}

async function takeAlone(cluster: Cluster, users: FileLock): Promise<void> {
  if (!(await users.tryExclusive())) throw await inUse(cluster)
  if (!(await isUnderWay(cluster))) return
  if ((await clientsOf(cluster, users)) === 'some') throw await inUse(cluster)
  await shutDown(cluster, 'fast')
}

/** Runs the server of a cluster while `work` runs, which gets its URL. */
export async function whileRunning<T>(
  cluster: Cluster,
  binaries: Binaries,
  account: Account | undefined,
  work: (url: string) => Promise<T>,
): Promise<T> {
  await startServer(cluster, binaries, account)
  try {
    while (!(await servingAddress(cluster))) {
      if (!(await isUnderWay(cluster)))
        throw new AppError('the database server ended while it started', { hint: `its log is ${cluster.log}` })
      await sleep(LOOK_MS)
    }
    return await work(urlOf(addressOf(cluster.pgdata)))
  } finally {
    if (await isUnderWay(cluster)) await shutDown(cluster, 'fast')
  }
}
