import { existsSync, realpathSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { messageOf, UsageError } from '../../base/errors.ts'
import { placeInside } from '../../base/inside.ts'
import { fromFiles } from '../../importers/archivebox/from-files.ts'
import { readIndex } from '../../importers/archivebox/read-index.ts'
import type { Collection } from '../../workers/adopt/collection.ts'

/** A collection, and what could not be read of it so far: it is read more than once. */
export interface FoundCollection {
  readonly collection: Collection
  readonly unread: ReadonlySet<string>
}

/**
 * The collection of ArchiveBox in a folder. Throws UsageError for a folder that is none, or whose index cannot be read.
 * @param byLinks take files as hard links where possible
 */
export async function collectionIn(dir: string, byLinks: boolean): Promise<FoundCollection> {
  const given = resolve(dir)
  const label = `ArchiveBox ${basename(given)}`
  const hint = 'it is the folder with index.sqlite3 and archive/ in it'
  if (!existsSync(given) || !statSync(given).isDirectory()) throw new UsageError(`${given} is not a folder`, hint)
  const folder = realpathSync.native(given)
  const inside = (name: string) => {
    try {
      return placeInside(folder, name)
    } catch (error) {
      throw new UsageError(messageOf(error), 'links are not followed: put the files there')
    }
  }
  if (inside('archive') === undefined) throw new UsageError(`${given} is not a collection of ArchiveBox`, hint)
  const index = inside('index.sqlite3')
  if (index !== undefined && !statSync(index).isFile()) throw new UsageError(`${index} is not a file`, hint)
  const unread = new Set<string>()
  const leave = (what: string) => void unread.add(what)
  const snapshots = index ? () => readIndex(index, leave) : () => fromFiles(folder, leave)
  try {
    for await (const _ of snapshots()) break // Tries whether it can be read at all.
  } catch (error) {
    throw new UsageError(`cannot read ${index ?? folder}: ${messageOf(error)}`, hint)
  }
  return { collection: { folder, label, snapshots, byLinks }, unread }
}
