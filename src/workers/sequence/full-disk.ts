import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { attemptName, HOSTED_LOG } from '../../base/attempt-paths.ts'
import { isFull, isOutOfSpace } from '../../base/disk-space.ts'
import { forgetEnds } from '../../base/row-log.ts'
import type { PublishedFiles } from '../../db/tables.ts'
import type { Hook } from '../../hooks/discover.ts'
import type { WorkTree } from '../../hooks/work-tree.ts'

/** The reason of a hook that wrote until the disk was full. */
export const FILLED = 'it filled the disk'

/** The page waits for space, without blame. */
export class NoSpace extends Error {
  readonly code = 'ENOSPC'
}

/** The attempt of a hook whose files may go. */
export interface Filling {
  readonly hook: Pick<Hook, 'plugin' | 'name'>
  readonly attempt: number
}

/**
 * Whether the hook's own files filled the disk. They are removed: if there is room then, it would fill that again.
 * @param hasSpace whether there is enough space to begin a page
 */
export async function hasFilledDisk(tree: WorkTree, filling: Filling, hasSpace: () => boolean): Promise<boolean> {
  forgetEnd(tree, filling)
  await tree.discard(filling.hook.plugin)
  return !isFull(tree.root) && hasSpace()
}

/** Its end goes before its files: the next worker of the page would take none for all that it made. */
function forgetEnd({ root }: WorkTree, { hook, attempt }: Filling): void {
  const log = join(root, HOSTED_LOG)
  try {
    forgetEnds(log, [attemptName(hook.plugin, hook.name, attempt)])
  } catch (error) {
    if (!isOutOfSpace(error)) throw error
    truncateSync(log) // This needs no space: the others whose ends are nowhere else run again.
  }
}

/** The outcome of a publication; if the hook's own files leave no space, that is the error. */
export async function orFilled(
  published: PublishedFiles | Error,
  tree: WorkTree,
  filling: Filling,
  hasSpace: () => boolean,
): Promise<PublishedFiles | Error> {
  const isItsOwn = isOutOfSpace(published) && (await hasFilledDisk(tree, filling, hasSpace))
  return isItsOwn ? new Error('no space is left for them') : published
}
