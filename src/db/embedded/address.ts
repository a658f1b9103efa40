import { readlinkSync, realpathSync, rmdirSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../base/errors.ts'
import { LONGEST_SOCKET_PATH, makeShortFolder, shortFolderOf } from '../../base/short-folder.ts'

/** How a client of this machine reaches the server: a unix socket, no password. */
export interface ServerAddress {
  readonly socketDir: string
  readonly port: number
  readonly user: string
  readonly database: string
}

export const PORT = 5432
export const USER = 'archivebox'
export const DATABASE = 'archivebox'

/** The socket itself, for a plain connect. */
export const socketOf = (address: ServerAddress): string => join(address.socketDir, `.s.PGSQL.${address.port}`)

/**
 * The address as a libpq URL: `pg`, psql and everything on libpq take it as it is.
 * It says `sslmode=disable` because a PGSSLMODE of the user's would otherwise make `pg` ask for TLS on the socket.
 */
export function urlOf(address: ServerAddress): string {
  const { user, socketDir, port, database } = address
  return `postgres://${user}@${encodeURIComponent(socketDir)}:${port}/${database}?sslmode=disable`
}

/**
 * The address of the cluster in `pgdata` (which exists). The socket is in the cluster's own 0700 directory; if that
 * path is too long for a socket, a private directory in /tmp gets a link to it, which is created here.
 */
export function addressOf(pgdata: string): ServerAddress {
  const real = realpathSync(pgdata)
  const address = { socketDir: real, port: PORT, user: USER, database: DATABASE }
  return Buffer.byteLength(socketOf(address)) <= LONGEST_SOCKET_PATH
    ? address
    : { ...address, socketDir: makeShortWay(real) }
}

/** Removes what `addressOf` created in /tmp for this cluster, if anything. */
export function removeShortWay(pgdata: string): void {
  const dir = shortFolderOf(realpathSync(pgdata))
  try {
    unlinkSync(join(dir, 'socket'))
    rmdirSync(dir)
  } catch {
    // There is none, as for most.
  }
}

function makeShortWay(real: string): string {
  const link = join(makeShortFolder(shortFolderOf(real), "the database's socket"), 'socket')
  try {
    symlinkSync(real, link)
  } catch (error) {
    // The name is a hash of the target, so a link of ours that exists is the right one.
    if (codeOf(error) !== 'EEXIST' || readlinkSync(link) !== real) throw error
  }
  return link
}
