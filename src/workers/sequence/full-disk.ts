import { isFull, isOutOfSpace } from '../../base/disk-space.ts'
import type { PublishedFiles } from '../../db/tables.ts'
import type { WorkTree } from '../../hooks/work-tree.ts'

/** The reason of a hook that wrote until the disk was full. */
export const FILLED = 'it filled the disk'

/** The page waits for space, without blame. */
export class NoSpace extends Error {
  readonly code = 'ENOSPC'
}

/**
 * Whether the hook's own files filled the disk. They are removed: if there is room then, it would fill that again.
 * @param hasSpace whether there is enough space to begin a page
 */
export async function hasFilledDisk(tree: WorkTree, plugin: string, hasSpace: () => boolean): Promise<boolean> {
  await tree.discard(plugin)
  return !isFull(tree.root) && hasSpace()
}

/** The outcome of a publication; if the hook's own files leave no space, that is the error. */
export async function orFilled(
  published: PublishedFiles | Error,
  tree: WorkTree,
  plugin: string,
  hasSpace: () => boolean,
): Promise<PublishedFiles | Error> {
  const isItsOwn = isOutOfSpace(published) && (await hasFilledDisk(tree, plugin, hasSpace))
  return isItsOwn ? new Error('no space is left for them') : published
}
