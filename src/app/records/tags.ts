import { UsageError } from '../../base/errors.ts'
import { closest } from '../../base/near-miss.ts'
import type { Database } from '../../db/database.ts'
import {
  deleteTags as deleteRows,
  listTags,
  mergeTags as mergeRows,
  renameTag as renameRow,
  type Tag,
} from '../../db/tags.ts'
import { reconcileCancelled } from '../../workers/repair/reconcile-work.ts'
import type { Archive } from '../archive.ts'
import type { Call } from '../call.ts'
import { checkTag } from './names.ts'

type Of = Pick<Archive, 'home'>

/** Renames a tag. Throws UsageError when the new name exists already. @returns the tag as it is now */
export async function renameTag(archive: Of, name: string, newName: string): Promise<Tag[]> {
  const { db } = archive.home
  checkTag(newName)
  const [tag] = await tagsNamed(db, [name])
  if ((await listTags(db, [newName])).length > 0)
    throw new UsageError(
      `there is a tag "${newName}" already`,
      `archivebox-ts tag merge ${name} ${newName} merges them`,
    )
  await renameRow(db, tag!, newName)
  return await shown(archive, [newName])
}

/** Merges tags into `into`, which gets the pages of the others. @returns the tag as it is now */
export async function mergeTags(archive: Of, from: readonly string[], into: string): Promise<Tag[]> {
  const [last, ...others] = await tagsNamed(archive.home.db, [into, ...from])
  await mergeRows(archive.home.db, others, last!)
  return await shown(archive, [into])
}

/** The rows are changed; their pages on disk are yet to be rewritten. */
export interface TagsDeleted {
  readonly event: 'tags deleted'
}

/** Removes tags from all pages. */
export async function deleteTags(
  archive: Of,
  tags: readonly Tag[],
  { tell }: Pick<Call<TagsDeleted>, 'tell'> = {},
): Promise<void> {
  await deleteRows(archive.home.db, tags)
  tell?.({ event: 'tags deleted' })
  await shown(archive, [])
}

/** The tags with these names, in their order. Throws UsageError for one that does not exist. */
export async function tagsNamed(db: Database, names: readonly string[]): Promise<Tag[]> {
  const found = await listTags(db, names)
  const missing = names.filter((name) => found.every((tag) => tag.name !== name))
  if (missing.length === 0) return names.map((name) => found.find((tag) => tag.name === name)!)
  const all = (await listTags(db)).map(({ name }) => name)
  const meant = closest(missing[0]!, all)
  throw new UsageError(
    `there is no tag "${missing[0]}"`,
    meant ? `did you mean ${meant}?` : 'archivebox-ts tag list shows them',
  )
}

/** Rewrites the pages on disk that show a change of tags. After a kill before that, the next runner does it. */
async function shown({ home }: Of, names: readonly string[]): Promise<Tag[]> {
  while (await reconcileCancelled(home));
  return await listTags(home.db, names)
}
