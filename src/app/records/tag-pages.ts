import { UsageError } from '../../base/errors.ts'
import { crawlsOfSnapshots } from '../../db/snapshots.ts'
import { changeTags } from '../../db/tags.ts'
import { reconcilePages } from '../../workers/repair/reconcile-pages.ts'
import type { Archive } from '../archive.ts'

export interface TagInput {
  /** Of pages. */
  readonly ids: readonly string[]
  readonly add: readonly string[]
  readonly remove: readonly string[]
}

/** Adds tags to pages, and removes others. */
export async function tagPages({ home }: Pick<Archive, 'home'>, { ids, ...change }: TagInput): Promise<void> {
  await changeTags(home.db, ids, change)
  await reconcilePages(home, await crawlsOfSnapshots(home.db, ids), ids)
}

const LONGEST = 100

/** Throws UsageError for an invalid tag: lists of tags are separated by commas and by control characters. */
export function checkTag(tag: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is rejected
  if (tag.trim() === tag && tag !== '' && tag.length <= LONGEST && !/[,\u0000-\u001f\u007f]/.test(tag)) return
  throw new UsageError(
    `"${tag}" cannot be a tag`,
    `a tag has 1 to ${LONGEST} characters, no comma, and no blank at its ends`,
  )
}
