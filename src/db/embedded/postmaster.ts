import { readFileSync, realpathSync } from 'node:fs'
import { connect } from 'node:net'
import { basename, join } from 'node:path'
import { codeOf } from '../../base/errors.ts'
import { addressOf, type ServerAddress, socketOf } from './address.ts'
import type { Cluster } from './cluster.ts'

/**
 * PostgreSQL's own data in postmaster.pid. It may be out of date: the file survives a kill -9 and a power cut.
 */
export interface Postmaster {
  readonly pid: number
  readonly status: string
}

/**
 * Reads postmaster.pid; null when there is none (or when it is being written). Throws the file-system error when it may
 * not look.
 */
export function readPostmaster(pgdata: string): Postmaster | null {
  try {
    const lines = readFileSync(join(pgdata, 'postmaster.pid'), 'utf8').split('\n')
    const pid = Number.parseInt(lines[0]!, 10)
    return pid > 0 ? { pid, status: (lines[7] ?? '').trim() } : null
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/**
 * Whether that pid is this cluster's server now. Checks its command line: the pid may have been reused since.
 */
export function isAlive(postmaster: Postmaster | null, pgdata: string): postmaster is Postmaster {
  if (!postmaster) return false
  if (process.platform !== 'linux') return exists(postmaster.pid)
  try {
    const argv = readFileSync(`/proc/${postmaster.pid}/cmdline`, 'utf8').split('\0')
    return basename(argv[0]!) === 'postgres' && argv.includes(realpathSync(pgdata))
  } catch {
    return false
  }
}

/** The address of the cluster's server if it accepts connections now, else null. Adopting it needs nothing more. */
export async function servingAddress(cluster: Cluster): Promise<ServerAddress | null> {
  const postmaster = readPostmaster(cluster.pgdata)
  if (postmaster?.status !== 'ready') return null
  const address = addressOf(cluster.pgdata)
  // From another container its process cannot be seen, but its socket answers.
  return isAlive(postmaster, cluster.pgdata) || (await isListening(address)) ? address : null
}

/** Whether a server of this cluster exists and has a status, whatever it does: then no other is started. */
export async function isUnderWay(cluster: Cluster): Promise<boolean> {
  const postmaster = readPostmaster(cluster.pgdata)
  // It listens before it has a status, so that one in another container cannot be missed.
  if (!postmaster?.status) return false
  return isAlive(postmaster, cluster.pgdata) || (await isListening(addressOf(cluster.pgdata)))
}

/** Why a server that is starting or stopping accepts no connections. */
export function whatItDoes(cluster: Cluster): string {
  const status = readPostmaster(cluster.pgdata)?.status
  if (status === 'starting') return 'it is starting up, and recovers what its end left undone'
  return status === 'stopping' ? 'it is shutting down' : 'it does not answer yet'
}

/** Whether somebody listens at the address. The kernel answers, so no stale file can mislead us. */
function isListening(address: ServerAddress): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketOf(address))
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** A process that we may not signal is another user's, and so not this server, as PostgreSQL sees it, too. */
function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
