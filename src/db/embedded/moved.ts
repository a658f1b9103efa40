import { join } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { textIn } from '../../base/if-readable.ts'
import { replaceFile } from '../../base/replace-file.ts'
import type { Cluster } from './cluster.ts'
import { writeThrough } from './initialise.ts'

/** Says that the rows of this data dir are in another server from now on, and where. Its own must not start again. */
const markOf = ({ dataDir }: Pick<Cluster, 'dataDir'>): string => join(dataDir, '.postgres-moved')

/** Where the rows of a data dir have moved to, to be shown; undefined: they have not. */
export const movedTo = (cluster: Pick<Cluster, 'dataDir'>): string | undefined =>
  textIn(markOf(cluster)).trim() || undefined

/** From now on nobody enters this cluster. The caller has the start lock, and has stopped the server. */
export function markMoved(cluster: Cluster, to: string): void {
  replaceFile(markOf(cluster), `${to}\n`, { mode: 0o644 })
  writeThrough(cluster.dataDir)
}

/** Throws AppError when the rows of this cluster have moved: what is written to it would be lost. */
export function refuseMoved(cluster: Cluster): void {
  const to = movedTo(cluster)
  if (to === undefined) return
  throw new AppError(`the database of ${cluster.dataDir} has moved to ${to}`, {
    hint:
      'set DATABASE_URL to it, or start again where archivebox.toml has it; ' +
      `archivebox-ts db move finishes a move that was cut off (an empty database here instead: rm ${markOf(cluster)})`,
  })
}
