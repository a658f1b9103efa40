import { chmodSync, lstatSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from './errors.ts'

/** Removes a file or folder of ours, if it is there: also one in which a hook has left folders that are read-only. */
export function removeTree(path: string): void {
  withRights(path, () => rmSync(path, { recursive: true, force: true }))
}

/** The same in the background, unless there are such folders. */
export async function removeLargeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => removeTree(path))
}

/**
 * Removes a folder in one step: a process that is killed here leaves either all of it or nothing.
 * @param aside the name, on the same file system, that it is renamed to first; a leftover is removed the next time
 */
export function removeAtOnce(folder: string, aside: string): void {
  removeTree(aside)
  renameSync(folder, aside)
  removeTree(aside)
}

/** Does something with a tree of ours: once more, with all rights to its folders, when the first time is refused. */
export function withRights<T>(top: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes(codeOf(error) ?? '')) throw error
    openFolders(top)
    return act()
  }
}

function openFolders(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (!stats?.isDirectory()) return // Nor what a link leads to.
  chmodSync(path, (stats.mode & 0o7777) | 0o700)
  for (const name of readdirSync(path)) openFolders(join(path, name))
}
