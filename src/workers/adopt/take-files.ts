import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { chmod, copyFile, link, rm, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { flush } from '../../base/flush.ts'
import { openFile } from '../../base/inside.ts'
import { mimeOf } from '../../base/mime.ts'
import { put } from '../../base/own.ts'
import type { OutputFile } from '../../db/tables.ts'

/** The files that were imported, by plugin and by path below its folder. */
export interface TakenFiles {
  readonly files: Map<string, Record<string, OutputFile>>
  linked: number
  copied: number
  bytes: number
  /** Links and special files, which stay where they are: their paths. */
  readonly left: string[]
}

/**
 * Imports the files of a folder into another one, which is emptied first: as copies that are compared with their
 * originals, which stay as they are. All or nothing: throws when a file cannot be imported.
 * @param from its real path: nothing that leads out of it is taken
 * @param byLinks as hard links, where possible: whoever changes the original then changes the imported file
 * @param placeOf where an entry of the folder goes, its plugin's folder first; undefined: nowhere
 */
export async function takeFiles(
  from: string,
  to: string,
  byLinks: boolean,
  placeOf: (name: string, isFolder: boolean) => string | undefined,
): Promise<TakenFiles> {
  const taken: TakenFiles = { files: new Map(), linked: 0, copied: 0, bytes: 0, left: [] }
  await rm(to, { recursive: true, force: true })
  const folders = new Set<string>()
  const take = async (source: string, place: string): Promise<void> => {
    const stats = lstatSync(source)
    if (stats.isDirectory()) {
      for (const name of readdirSync(source)) await take(join(source, name), `${place}/${name}`)
      return
    }
    const fd = stats.isFile() ? openFile(source) : undefined
    if (fd === undefined) {
      taken.left.push(source)
      return
    }
    try {
      const original = fstatSync(fd)
      // A folder above it may have been replaced by now.
      if (realpathSync.native(source) !== source) throw new Error(`${source} is a link by now`)
      const target = join(to, place)
      folders.add(dirname(target))
      mkdirSync(dirname(target), { recursive: true })
      const isLinked = byLinks && (await linkTo(source, target, original))
      if (!isLinked) await copyTo(source, target, original, fd)
      taken[isLinked ? 'linked' : 'copied'] += 1
    } finally {
      closeSync(fd)
    }
    const [plugin, ...rest] = place.split('/')
    const files = taken.files.get(plugin!) ?? {}
    put(files, rest.join('/'), { size: stats.size, mimetype: mimeOf(place) })
    taken.files.set(plugin!, files)
    taken.bytes += stats.size
  }
  try {
    for (const name of readdirSync(from)) {
      const place = placeOf(name, lstatSync(join(from, name)).isDirectory())
      if (place !== undefined) await take(join(from, name), place)
    }
    await flush([...folders])
    return taken
  } catch (error) {
    await rm(to, { recursive: true, force: true })
    throw error
  }
}

async function linkTo(source: string, target: string, original: Stats): Promise<boolean> {
  try {
    await link(source, target)
    if (isSame(lstatSync(target), original)) return true
  } catch {
    // Another file system, or somebody else's file.
  }
  await rm(target, { force: true })
  return false
}

const isSame = (one: Stats, other: Stats) => one.ino === other.ino && one.dev === other.dev

/** A copy, which shares its blocks with the original if the file system can; readable by whoever could read that. */
async function copyTo(source: string, target: string, original: Stats, fd: number): Promise<void> {
  await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
  await chmod(target, 0o600 | (original.mode & 0o044))
  await utimes(target, original.atime, original.mtime)
  await flush([target])
  const hashes = [createReadStream('', { fd, autoClose: false, start: 0, highWaterMark: MIB }), readOf(target)].map(
    hashOf,
  )
  const [there, here] = await Promise.all(hashes)
  if (there === here) return
  await rm(target, { force: true })
  throw new Error('the copy differs from the original')
}

const MIB = 1_048_576
const readOf = (file: string) => createReadStream(file, { highWaterMark: MIB })

async function hashOf(bytes: Readable): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(bytes, hash)
  return hash.digest('hex')
}
