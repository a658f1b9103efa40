import { renameSync, rmSync } from 'node:fs'

/**
 * Removes a folder in one step: whoever is killed at it leaves the whole of it, or none.
 * @param aside the name, on the same file system, under which it may be left, and is removed the next time
 */
export function removeAtOnce(folder: string, aside: string): void {
  rmSync(aside, { recursive: true, force: true })
  renameSync(folder, aside)
  rmSync(aside, { recursive: true, force: true })
}
