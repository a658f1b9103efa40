import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { placeInside } from '../../base/inside.ts'
import { UrlListBuilder } from '../../base/url-list.ts'
import { placeOf } from '../../importers/archivebox/folders.ts'
import type { SourceSnapshot } from '../../importers/archivebox/snapshot.ts'
import { adoptedId } from '../../machines/adopt.ts'

/** A collection of ArchiveBox. */
export interface Collection {
  /** The real path of its top folder. */
  readonly folder: string
  readonly label: string
  /** Its snapshots, crawl by crawl; can be read repeatedly. */
  readonly snapshots: () => Iterable<SourceSnapshot> | AsyncIterable<SourceSnapshot>
  /** Files are taken as hard links where possible. */
  readonly byLinks: boolean
}

/** The outcome of importing a collection. */
export class Adoption {
  read = 0
  taken = 0
  /** Imported earlier. */
  before = 0
  linked = 0
  copied = 0
  bytes = 0
  /** Snapshots that could not be imported, each with the reason. */
  readonly refused: string[] = []
  /** Links and special files among the files, which are not imported. */
  readonly left: string[] = []
  /** URLs without a copy there, with their details. */
  readonly open = new UrlListBuilder()
  readonly crawls = new Set<string>()
}

/**
 * Where the files of a snapshot are, and whether they lie as they did before 0.9; undefined: there are none. Throws
 * AppError when its rows place them outside the collection.
 */
export function filesOf(
  collection: Collection,
  { folders }: SourceSnapshot,
): { path: string; isLegacy: boolean } | undefined {
  for (const folder of folders) {
    const path = placeInside(collection.folder, folder)
    if (path === undefined || !lstatSync(path).isDirectory()) continue
    const isLegacy = !existsSync(join(path, 'index.jsonl'))
    const entries = readdirSync(path, { withFileTypes: true })
    if (entries.some((entry) => placeOf(entry.name, entry.isDirectory(), isLegacy) !== undefined))
      return { path, isLegacy }
  }
  return undefined
}

/** The id of a snapshot here: the same for every import. */
export const idOf = ({ id, bookmarkedAt }: SourceSnapshot) => adoptedId(`snapshot ${id}`, bookmarkedAt)
