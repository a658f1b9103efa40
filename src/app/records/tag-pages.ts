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
