import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError, codeOf } from './errors.ts'
import { namesIn } from './if-readable.ts'

/** What fits into `sun_path` beside its NUL, in bytes. */
export const LONGEST_SOCKET_PATH = process.platform === 'darwin' ? 103 : 107

const FOLDERS = '/tmp/archivebox-ts-'

/** A folder in /tmp that stands for `real` where a path must be short, as that of a socket; the same each time. */
export const shortFolderOf = (real: string): string =>
  `${FOLDERS}${createHash('sha256').update(`${real}\0${ownUid()}`).digest('hex').slice(0, 16)}`

/** The folder, where a browser's launcher works, of what its short folder has no room for, under the same name. */
export const PROFILES = '.browser'

const ownUid = (): number => process.geteuid?.() ?? 0

/** The same for the process of this row (an id as UUIDs are written): whose it is, its name says. */
export const processFolderOf = (id: string): string => `${FOLDERS}${id.replaceAll('-', '')}`

/** The folders of processes that are there and belong to our account, or are for root, by the ids of the processes. */
export function processFolders(): Map<string, string> {
  const found = new Map<string, string>()
  for (const name of namesIn(dirname(FOLDERS))) {
    const folder = join(dirname(FOLDERS), name)
    const parts = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/.exec(folder.slice(FOLDERS.length))
    if (parts && isProcessFolder(folder)) found.set(parts.slice(1).join('-'), folder)
  }
  return found
}

/** Is this one of them? */
export const isProcessFolder = (folder: string): boolean =>
  folder.startsWith(FOLDERS) && /^[0-9a-f]{32}$/.test(folder.slice(FOLDERS.length)) && isPrivate(folder)

/** Is this a folder of our account that no other may enter? */
function isOwn(folder: string): boolean {
  return isPrivate(folder) && lstatSync(folder).uid === ownUid()
}

/** The same; as root, of whomever: hooks run as another account. */
function isPrivate(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  const isOurs = ownUid() === 0 || found?.uid === ownUid()
  return found?.isDirectory() === true && isOurs && (found.mode & 0o077) === 0
}

/**
 * Makes such a folder, for our account alone. Throws AppError when there is one of somebody else's, or one that others
 * may enter.
 * @param folder of `shortFolderOf` or `processFolderOf`
 * @param isFor what is not safe in such a folder, for the message
 */
export function makeShortFolder(folder: string, isFor: string): string {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
  // /tmp belongs to everybody: a folder that somebody else put there first could lead us to their socket.
  if (!isOwn(folder))
    throw new AppError(`${folder} belongs to somebody else or is open to others, so ${isFor} is not safe there`, {
      hint: 'Remove it, or use a data directory with a shorter path.',
    })
  return folder
}
