import { createHash } from 'node:crypto'
import { constants, createReadStream, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { copyFile, link, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { flush } from '../base/flush.ts'
import { mimeOf } from '../base/mime.ts'
import { put } from '../base/own.ts'
import type { OutputFile } from '../db/tables.ts'

/** The files that were taken, by plugin and by path below its folder. */
export interface TakenFiles {
  readonly files: Map<string, Record<string, OutputFile>>
  linked: number
  copied: number
  bytes: number
  /** Links and special files, which stay where they are: their paths. */
  readonly left: string[]
}

/**
 * Takes the files of a folder over into another one, which is emptied before: by hard links, or copies that are
 * compared with their originals where links do not work. The originals stay as they are. All or nothing: throws when a
 * file cannot be taken.
 * @param placeOf where an entry of the folder goes, its plugin's folder first; undefined: nowhere
 */
export async function takeFiles(
  from: string,
  to: string,
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
    if (!stats.isFile()) {
      taken.left.push(source)
      return
    }
    const target = join(to, place)
    folders.add(dirname(target))
    mkdirSync(dirname(target), { recursive: true })
    taken[await linkOrCopy(source, target)] += 1
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

async function linkOrCopy(source: string, target: string): Promise<'linked' | 'copied'> {
  try {
    await link(source, target)
    if (statSync(source).ino === statSync(target).ino) return 'linked'
  } catch {
    // Another file system, or somebody else's file.
  }
  await rm(target, { force: true })
  await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
  await flush([target])
  const [original, copy] = await Promise.all([hashOf(source), hashOf(target)])
  if (original !== copy) {
    await rm(target, { force: true })
    throw new Error('the copy differs from the original')
  }
  return 'copied'
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file, { highWaterMark: 1_048_576 }), hash)
  return hash.digest('hex')
}
