import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from './errors.ts'

const MB = 1_000_000
/** Below this, even a small write may have failed. */
const FULL_BYTES = 64 * 1024

/**
 * Why there is too little disk space to begin a page, in one line; undefined: there is enough. Checks the data dir and
 * its archive.
 * @param floor the free MB required: enough for the pages at work (some MB each, a WARC tens), and for the log of a
 *   database beside them
 */
export function lacksSpace(dataDir: string, floor: number): string | undefined {
  for (const dir of [dataDir, join(dataDir, 'archive')]) {
    const free = freeBytes(dir)
    if (free < floor * MB)
      return `${Math.floor(free / MB)} MB free in ${dir}: below ${floor} MB (DISK_FLOOR) no page is begun`
  }
  return undefined
}

/** Is the disk full? */
export function isFull(dir: string): boolean {
  return freeBytes(dir) < FULL_BYTES
}

/** Is this error about disk space: none left, or none left for us? */
export function isOutOfSpace(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** The space that a file system lets us use; Infinity where it does not say. */
function freeBytes(dir: string): number {
  try {
    const { bavail, bsize } = statfsSync(dir)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
