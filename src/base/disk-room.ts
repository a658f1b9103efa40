import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from './errors.ts'

const MB = 1_000_000
/** Below this a write of any size may have failed. */
const FULL_BYTES = 64 * 1024

/**
 * Why no page may be begun for want of disk space, in a line; undefined: there is room.
 * Looks at the data dir and at its archive.
 * @param floor the free MB below which none is: enough for the pages that are in work (some MB each, a WARC tens), and
 *   for the log of a database that lies beside them
 */
export function lacksRoom(dataDir: string, floor: number): string | undefined {
  for (const dir of [dataDir, join(dataDir, 'archive')]) {
    const free = freeBytes(dir)
    if (free < floor * MB)
      return `${Math.floor(free / MB)} MB free in ${dir}: below ${floor} MB (DISK_FLOOR) no page is begun`
  }
  return undefined
}

/** Is there no space left for anything? */
export function isFull(dir: string): boolean {
  return freeBytes(dir) < FULL_BYTES
}

/** Is this error about space on a disk: none left, or none left for us? */
export function isOutOfSpace(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** What a file system lets us use; Infinity where it does not say. */
function freeBytes(dir: string): number {
  try {
    const { bavail, bsize } = statfsSync(dir)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
