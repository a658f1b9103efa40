import { mkdirSync, rmSync } from 'node:fs'
import { AppError } from '../../base/errors.ts'
import type { TellDatabase } from '../events.ts'
import { asideOf, type Held, whileRunning, withClusterHeld } from './alone.ts'
import type { Binaries } from './binaries.ts'
import type { Cluster } from './cluster.ts'
import { initialise, removeCluster, removeLeftovers } from './initialise.ts'
import { refuseMoved } from './moved.ts'
import { olderPrograms } from './older-programs.ts'
import { isUnderWay } from './postmaster.ts'
import { shutDown } from './stop.ts'
import { upgradeNeeds } from './upgrade-room.ts'
import { nextOf, swap } from './upgrade-swap.ts'

export interface Upgraded {
  readonly from: number
  readonly to: number
  /** Where the old cluster is kept. */
  readonly kept: string
}

export interface UpgradeOptions {
  /** The folder with the programs of the old major. */
  readonly programs: string | undefined
  readonly tell: TellDatabase
  /**
   * Copies everything from one database to another, and throws unless all of it is there. What it keeps in the `aside`
   * folder is removed, also after a kill.
   */
  readonly copy: (fromUrl: string, toUrl: string, aside: string) => Promise<void>
}

/**
 * Moves the cluster of a data dir to the installed major version: creates a new one beside it, copies everything, and
 * swaps them. A failure or a kill before that leaves the old one unchanged: the next upgrade begins anew. Nobody may
 * use it meanwhile. Returns undefined when it has that version. Throws AppError.
 */
export async function upgradeCluster(dataDir: string, options: UpgradeOptions): Promise<Upgraded | undefined> {
  return await withClusterHeld(dataDir, async (held) => {
    const { cluster, version: from, account, binaries } = held
    refuseMoved(cluster)
    const to = binaries.majorVersion
    if (from === to) return undefined
    if (from > to)
      throw new AppError(`the database is of PostgreSQL ${from}, and ${to} is installed`, {
        hint: 'a newer archivebox-ts made it: install that version',
      })
    const older = olderPrograms(from, account, options.programs, options.tell)
    await held.takeAlone()
    await removeLeft(cluster)
    options.tell({ event: 'upgrading database', from, to, ...upgradeNeeds(cluster.pgdata, cluster.dataDir) })
    await fillNext(held, older, options)
    return { from, to, kept: swap(cluster, from) }
  })
}

/** Creates the next cluster, with everything that the present one has. */
async function fillNext(
  { cluster, account, binaries, startLock }: Held,
  older: Binaries,
  { tell, copy }: UpgradeOptions,
): Promise<void> {
  const next = nextOf(cluster)
  const aside = asideOf(cluster)
  mkdirSync(aside, { mode: 0o700 })
  try {
    await initialise(next, binaries, account, startLock, tell)
    await whileRunning(cluster, older, account, async (from) => {
      await whileRunning(next, binaries, account, async (to) => await copy(from, to, aside))
    })
  } catch (error) {
    removeCluster(next.pgdata)
    throw error
  } finally {
    rmSync(aside, { recursive: true })
  }
}

/** Removes what a killed upgrade has left, before room is looked for. */
async function removeLeft(cluster: Cluster): Promise<void> {
  const next = nextOf(cluster)
  if (await isUnderWay(next)) await shutDown(next, 'immediate')
  removeLeftovers(cluster)
  removeCluster(next.pgdata)
  rmSync(asideOf(cluster), { recursive: true, force: true })
}
