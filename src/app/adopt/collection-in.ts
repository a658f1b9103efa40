import { existsSync, realpathSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { messageOf, UsageError } from '../../base/errors.ts'
import { placeInside } from '../../base/inside.ts'
import { fromFiles } from '../../importers/archivebox/from-files.ts'
import { readIndex } from '../../importers/archivebox/read-index.ts'
import type { Collection } from '../../workers/adopt/collection.ts'

/** A collection, and what of it could not be read up to now: it is read more than once. */
export interface FoundCollection {
  readonly collection: Collection
  readonly unread: ReadonlySet<string>
}

/**
 * The collection of ArchiveBox in a folder.
 * @param byLinks files are taken by hard links where they work
 * Throws UsageError for a folder that is none, or whose index cannot be read.
 */
export async function collectionIn(dir: string, byLinks: boolean): Promise<FoundCollection> {
  const given = resolve(dir)
  const label = `ArchiveBox ${basename(given)}`
  const hint = 'it is the folder with index.sqlite3 and archive/ in it'
  if (!existsSync(given) || !statSync(given).isDirectory()) throw new UsageError(`${given} is no folder`, hint)
  const folder = realpathSync.native(given)
  const inside = (name: string) => {
    try {
      return placeInside(folder, name)
    } catch (error) {
      throw new UsageError(messageOf(error), 'what a link leads to is not taken: put it there')
    }
  }
  if (inside('archive') === undefined) throw new UsageError(`${given} is no collection of ArchiveBox`, hint)
  const index = inside('index.sqlite3')
  if (index !== undefined && !statSync(index).isFile()) throw new UsageError(`${index} is no file`, hint)
  const unread = new Set<string>()
  const leave = (what: string) => void unread.add(what)
  const snapshots = index ? () => readIndex(index, leave) : () => fromFiles(folder, leave)
  try {
    for await (const _ of snapshots()) break // Can it be read at all?
  } catch (error) {
    throw new UsageError(`cannot read ${index ?? folder}: ${messageOf(error)}`, hint)
  }
  return { collection: { folder, label, snapshots, byLinks }, unread }
}
