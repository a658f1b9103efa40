import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  futimesSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { codeOf } from '../base/errors.ts'
import { innerLinks, type TreeEntry } from '../base/inner-links.ts'
import { mimeOf } from '../base/mime.ts'
import type { OutputFile } from '../db/tables.ts'

/** More output files of one plugin are not published. */
export const MAX_FILES = 100_000
const TOO_MANY = `more than ${MAX_FILES} output files`
/**
 * From this size on the system copies the file in the background, so that leases can be renewed meanwhile. Below it,
 * reading and writing is cheaper.
 */
const LARGE_BYTES = 1024 * 1024
/** Between small files, leases get a turn when this much time has passed. */
const TURN_MS = 20
const { COPYFILE_EXCL, COPYFILE_FICLONE, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants

export interface CopiedTree {
  /** The copied files, with the size of the copy, and links, by their paths in the tree. */
  readonly files: Map<string, OutputFile>
  /** The state of each of them right before the copy: see `markOf`. */
  readonly marks: Map<string, string>
  /** The tree's folders from the top down, by their paths in it; '' is the top itself. */
  readonly folders: readonly string[]
}

/** Whoever made the tree has left us no rights to read this in it. */
export class Unreadable extends Error {
  readonly code = 'EACCES'
  constructor(path: string) {
    super(`${path} cannot be read: permission denied`)
  }
}

/**
 * Copies the files of a tree, and the links that stay inside it, to a path where nothing exists. Sockets, devices and
 * links that point outside are left out. A copy shares no bytes with the original, except where the file system does
 * copy-on-write. If a process writes into the tree meanwhile, or replaces folders with links, nothing from outside gets
 * into the copy. Throws Unreadable.
 * @param root a folder, not a link
 * @param from the tree, relative to it; nothing is copied when it is not a folder
 * @param uid the owner of the tree: another user's file with further names is left out, since it was linked in
 */
export async function copyTree(root: string, from: string, to: string, uid?: number): Promise<CopiedTree> {
  const files = new Map<string, OutputFile>()
  const marks = new Map<string, string>()
  const entries = new Map<string, TreeEntry>()
  const folders = isFolder(join(root, from)) ? [''] : []
  const top = folders.length > 0 ? join(realpathSync(root), from) : root
  let turnedAt = performance.now()
  for (const folder of folders) {
    mkdirSync(join(to, folder), { recursive: true })
    let reading = folder
    await inFolder(join(top, folder), async (names, at) => {
      if (names.length > MAX_FILES) throw new Error(TOO_MANY) // Before any of them is copied.
      for (const name of names) {
        const path = folder ? `${folder}/${name}` : name
        reading = path
        if (performance.now() - turnedAt > TURN_MS) {
          await turn()
          turnedAt = performance.now()
        }
        const stats = lstatSync(join(at, name), { bigint: true, throwIfNoEntry: false })
        if (!stats && name.includes('\ufffd')) throw new Error(`a file name that is not UTF-8: ${path}`)
        if (stats?.isDirectory()) {
          entries.set(path, 'folder')
          folders.push(path)
        } else if (stats?.isSymbolicLink()) {
          const link = unlessChanged(() => readlinkSync(join(at, name)))
          if (link === undefined) continue
          entries.set(path, { link })
          marks.set(path, markIn(stats))
        } else if (stats?.isFile()) {
          const copied = await copyFileTo(join(at, name), join(to, path), uid)
          if (!copied) continue
          entries.set(path, 'file')
          marks.set(path, copied.mark)
          files.set(path, { size: copied.size, mimetype: mimeOf(name) })
        }
        if (marks.size > MAX_FILES) throw new Error(TOO_MANY)
      }
    }).catch((error: unknown) => {
      throw codeOf(error) === 'EACCES' ? new Unreadable(join(basename(from), reading)) : error
    })
  }
  const inner = innerLinks(entries)
  for (const [path, entry] of entries) {
    if (typeof entry !== 'object') continue
    const end = inner.get(path)
    if (end === undefined) marks.delete(path)
    else {
      symlinkSync(entry.link, join(to, path))
      files.set(path, { size: 0, mimetype: end === 'file' ? mimeOf(path) : 'inode/directory', link: entry.link })
    }
  }
  return { files, marks, folders }
}

/**
 * Lists a tree that nobody can change meanwhile. Undefined when it contains anything but files and folders: such a tree
 * cannot be moved as it is.
 */
export function listTree(top: string): CopiedTree | undefined {
  const files = new Map<string, OutputFile>()
  const marks = new Map<string, string>()
  const folders = isFolder(top) ? [''] : []
  for (const folder of folders) {
    for (const name of readdirSync(join(top, folder))) {
      const path = folder ? `${folder}/${name}` : name
      const stats = lstatSync(join(top, path), { bigint: true })
      if (stats.isDirectory()) folders.push(path)
      else if (stats.isFile() && stats.nlink === 1n && !name.includes('\ufffd') && files.size < MAX_FILES) {
        marks.set(path, markIn(stats))
        files.set(path, { size: Number(stats.size), mimetype: mimeOf(name) })
      } else return undefined
    }
  }
  return { files, marks, folders }
}

/** A mark that changes when a file is written to, even with the same bytes. Undefined when there is no file. */
export function markOf(path: string): string | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && markIn(stats)
}

/** Whether this is a folder, and not a link to one. */
export function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Copies one file or link to a path where nothing exists. */
export async function copyEntry(from: string, to: string): Promise<void> {
  mkdirSync(dirname(to), { recursive: true })
  if (lstatSync(from).isSymbolicLink()) symlinkSync(readlinkSync(from), to)
  else await copyFileTo(from, to)
}

/** The same, of a file that was looked at. */
export const markIn = ({ ino, ctimeNs, size }: BigIntStats) => `${ino} ${ctimeNs} ${size}`

/**
 * Calls `use` with the names in a folder and a path to them that stays in it. A folder that was moved, or replaced by a
 * link, counts as empty.
 */
async function inFolder(path: string, use: (names: string[], at: string) => Promise<void>): Promise<void> {
  // Other systems cannot open entries relative to an open folder: there we trust that it is not replaced meanwhile.
  if (process.platform !== 'linux') return await use(readdirSync(path), path)
  const fd = unlessChanged(() => openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
  if (fd === undefined) return
  try {
    const at = `/proc/self/fd/${fd}`
    if (readlinkSync(at) === path) await use(readdirSync(at), at)
  } finally {
    closeSync(fd)
  }
}

/** @returns undefined when it is no longer a file */
async function copyFileTo(from: string, to: string, uid?: number): Promise<{ size: number; mark: string } | undefined> {
  const source = unlessChanged(() => openSync(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK))
  if (source === undefined) return undefined
  try {
    const stats = fstatSync(source, { bigint: true })
    if (!stats.isFile()) return undefined
    if (uid !== undefined && stats.nlink > 1n && stats.uid !== BigInt(uid)) return undefined
    const large = stats.size >= LARGE_BYTES
    if (large) await copyFile(`/dev/fd/${source}`, to, COPYFILE_EXCL | COPYFILE_FICLONE)
    const copy = openSync(to, large ? 'r' : 'wx')
    try {
      if (!large) writeFileSync(copy, readFileSync(source))
      fchmodSync(copy, Number(stats.mode & 0o777n))
      futimesSync(copy, Number(stats.atimeMs) / 1000, Number(stats.mtimeMs) / 1000)
      return { size: fstatSync(copy).size, mark: markIn(stats) }
    } finally {
      closeSync(copy)
    }
  } finally {
    closeSync(source)
  }
}

/** Undefined when the path is a link, a socket, something else or nothing by now. */
export function unlessChanged<T>(open: () => T): T | undefined {
  try {
    return open()
  } catch (error) {
    if (['ELOOP', 'ENOTDIR', 'ENOENT', 'EINVAL', 'ENXIO'].includes(codeOf(error) ?? '')) return undefined
    throw error
  }
}
