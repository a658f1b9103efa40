import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync } from 'node:fs'
import { AppError, codeOf } from './errors.ts'

/** What fits into `sun_path` beside its NUL, in bytes. */
export const LONGEST_SOCKET_PATH = process.platform === 'darwin' ? 103 : 107

/** A folder in /tmp that stands for `real` where a path must be short, as that of a socket; the same each time. */
export const shortFolderOf = (real: string): string =>
  `/tmp/archivebox-ts-${createHash('sha256').update(`${real}\0${ownUid()}`).digest('hex').slice(0, 16)}`

const ownUid = (): number => process.geteuid?.() ?? 0

/**
 * Makes that folder, for our account alone. Throws AppError when there is one of somebody else's, or one that others
 * may enter.
 * @param isFor what is not safe in such a folder, for the message
 */
export function makeShortFolder(real: string, isFor: string): string {
  const folder = shortFolderOf(real)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
  const found = lstatSync(folder)
  // /tmp belongs to everybody: a folder that somebody else put there first could lead us to their socket.
  if (!found.isDirectory() || found.uid !== ownUid() || (found.mode & 0o077) !== 0)
    throw new AppError(`${folder} belongs to somebody else or is open to others, so ${isFor} is not safe there`, {
      hint: 'Remove it, or use a data directory with a shorter path.',
    })
  return folder
}
