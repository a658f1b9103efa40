import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsync,
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
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { codeOf } from '../base/errors.ts'
import { innerLinks, type TreeEntry } from '../base/inner-links.ts'
import { mimeOf } from '../base/mime.ts'
import type { OutputFile } from '../db/tables.ts'

const MAX_FILES = 100_000
/**
 * From this size on the system copies a file, beside our own work: a lease must be renewed meanwhile. Below it reading
 * and writing is cheaper.
 */
const LARGE_BYTES = 1024 * 1024
const { COPYFILE_EXCL, COPYFILE_FICLONE, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants

export interface CopiedTree {
  /** What was copied, by its path below the top: files with the size that the copy has, and links. */
  readonly files: Map<string, OutputFile>
  /** How each of them looked right before: see `markOf`. */
  readonly marks: Map<string, string>
  /** The folders it is made of, from the top down, by their paths below it; '' is the top itself. */
  readonly folders: readonly string[]
}

/**
 * Copies the files of a tree, and the links that stay inside it (never sockets, devices, or what points outside), to a
 * place where nothing is. No copy shares its bytes with the original, except where the file system keeps them apart by
 * itself. Whoever writes in the tree meanwhile, or puts links in place of its folders, gets nothing from elsewhere into
 * the copy.
 * @param root a folder that is where it says
 * @param from the tree, below it; when it is no folder there is nothing to copy
 */
export async function copyTree(root: string, from: string, to: string): Promise<CopiedTree> {
  const files = new Map<string, OutputFile>()
  const marks = new Map<string, string>()
  const entries = new Map<string, TreeEntry>()
  const folders = isFolder(join(root, from)) ? [''] : []
  const top = folders.length > 0 ? join(realpathSync(root), from) : root
  for (const folder of folders) {
    mkdirSync(join(to, folder), { recursive: true })
    await inFolder(join(top, folder), async (names, at) => {
      for (const name of names) {
        const path = folder ? `${folder}/${name}` : name
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
          const copied = await copyFileTo(join(at, name), join(to, path))
          if (!copied) continue
          entries.set(path, 'file')
          marks.set(path, copied.mark)
          files.set(path, { size: copied.size, mimetype: mimeOf(name) })
        }
        if (marks.size > MAX_FILES) throw new Error(`more than ${MAX_FILES} output files`)
      }
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
 * What is in a tree that nobody can change meanwhile. Undefined when there is more in it than files and folders of its
 * own: such a tree is not taken as it is.
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

/**
 * Flushes files and folders to disk, all at once: a disk that journals writes them together, and the wait is that of a
 * few. (Of many the first ones go first: each takes a descriptor.)
 */
export async function flush(paths: readonly string[]): Promise<void> {
  for (let at = 0; at < paths.length; at += MOST_AT_ONCE)
    await Promise.all(paths.slice(at, at + MOST_AT_ONCE).map(flushOne))
}

const MOST_AT_ONCE = 64
const synced = promisify(fsync)

async function flushOne(path: string): Promise<void> {
  const fd = openSync(path, 'r')
  try {
    await synced(fd)
  } finally {
    closeSync(fd)
  }
}

/**
 * What tells whether somebody has touched a file since, were it to write the same bytes again. Undefined when it is not
 * there.
 */
export function markOf(path: string): string | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && markIn(stats)
}

/** Is there a folder, and no link to one? */
export function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Copies one file, or link, to a place where nothing is. */
export async function copyEntry(from: string, to: string): Promise<void> {
  mkdirSync(dirname(to), { recursive: true })
  if (lstatSync(from).isSymbolicLink()) symlinkSync(readlinkSync(from), to)
  else await copyFileTo(from, to)
}

const markIn = ({ ino, ctimeNs, size }: BigIntStats) => `${ino} ${ctimeNs} ${size}`

/**
 * Hands out the names in a folder, and a way to them that stays in it. One that was exchanged for a link, or moved,
 * counts as empty.
 */
async function inFolder(path: string, use: (names: string[], at: string) => Promise<void>): Promise<void> {
  // Elsewhere nothing leads from an open folder to what is in it: there we trust that it is not exchanged meanwhile.
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

/** @returns undefined when it is no file any more */
async function copyFileTo(from: string, to: string): Promise<{ size: number; mark: string } | undefined> {
  const source = unlessChanged(() => openSync(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK))
  if (source === undefined) return undefined
  try {
    const stats = fstatSync(source, { bigint: true })
    if (!stats.isFile()) return undefined
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

/** Undefined when there is a link by now, or something else, or nothing. */
function unlessChanged<T>(open: () => T): T | undefined {
  try {
    return open()
  } catch (error) {
    if (['ELOOP', 'ENOTDIR', 'ENOENT', 'EINVAL'].includes(codeOf(error) ?? '')) return undefined
    throw error
  }
}
