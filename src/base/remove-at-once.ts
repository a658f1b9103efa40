import { renameSync, rmSync } from 'node:fs'

/**
 * Removes a folder in one step: a process that is killed here leaves either all of it or nothing.
 * @param aside the name, on the same file system, that it is renamed to first; a leftover is removed the next time
 */
export function removeAtOnce(folder: string, aside: string): void {
  rmSync(aside, { recursive: true, force: true })
  renameSync(folder, aside)
  rmSync(aside, { recursive: true, force: true })
}
