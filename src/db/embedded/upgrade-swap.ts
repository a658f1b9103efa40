import { existsSync, lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Cluster } from './cluster.ts'
import { writeThrough } from './initialise.ts'

/** Where an upgrade creates the new cluster. */
export const nextOf = (cluster: Cluster): Cluster => ({ ...cluster, pgdata: `${cluster.pgdata}.next` })
/** Marks the next cluster as complete. */
const markOf = ({ dataDir }: Cluster): string => join(dataDir, '.postgres-upgraded')

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** Puts the next cluster, which is complete, in the place of the old one. @returns where that is kept */
export function swap(cluster: Cluster, version: number): string {
  let kept = `${cluster.pgdata}.${version}`
  for (let n = 2; isThere(kept); n += 1) kept = `${cluster.pgdata}.${version}-${n}`
  writeFileSync(markOf(cluster), '', { flush: true })
  writeThrough(cluster.dataDir)
  renameSync(cluster.pgdata, kept)
  finishSwap(cluster)
  return kept
}

/** The second half of the swap, also after a kill between the two. The caller holds the start lock. */
export function finishSwap(cluster: Cluster): void {
  if (!existsSync(markOf(cluster))) return
  const next = nextOf(cluster).pgdata
  if (!isThere(cluster.pgdata) && isThere(next)) renameSync(next, cluster.pgdata)
  writeThrough(cluster.dataDir)
  rmSync(markOf(cluster))
}
