import { readFileSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { codeOf } from '../../base/errors.ts'

/** Where the parts of one data directory's server are. */
export interface Cluster {
  readonly dataDir: string
  /** The cluster: a directory, or a link to one when the server's user cannot reach the data directory. */
  readonly pgdata: string
  readonly log: string
  /** Held exclusively while somebody initialises, starts or stops. */
  readonly startLock: string
  /** Held shared by every process that uses the server, for as long as it lives. */
  readonly usersLock: string
  /** Somebody asked for the server to stay up even if nobody uses it. */
  readonly keepMark: string
}

/** The paths of the server of `dataDir`; touches nothing. */
export function clusterOf(dataDir: string): Cluster {
  const dir = realPath(dataDir)
  return {
    dataDir: dir,
    pgdata: join(dir, 'postgres'),
    log: join(dir, 'logs', 'postgres.log'),
    startLock: join(dir, '.postgres-lock'),
    usersLock: join(dir, '.postgres-users'),
    keepMark: join(dir, '.postgres-keep'),
  }
}

/**
 * The major version of the cluster's files; null when there is no cluster. Throws the file-system error when it may not
 * look.
 */
export function majorVersionOf(cluster: Cluster): number | null {
  try {
    return Number.parseInt(readFileSync(join(cluster.pgdata, 'PG_VERSION'), 'utf8'), 10)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

function realPath(dir: string): string {
  try {
    return realpathSync(dir)
  } catch {
    return resolve(dir)
  }
}
