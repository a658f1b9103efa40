import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from './errors.ts'

const MB = 1_000_000
/** Below this, even a small write may have failed. */
const FULL_BYTES = 64 * 1024
/** The pages at work create a few dozen files and folders each. Some file systems have room for a fixed number only. */
export const FILES_FLOOR = 1_000

/**
 * Why there is too little disk space to start a page, in one line; undefined: there is enough. Checks the data dir and
 * its archive.
 * @param floor the free MB required: enough for the pages at work (some MB each, a WARC tens), and for the log of a
 *   database beside them; 0: a page is started as long as anything fits
 */
export function lacksSpace(dataDir: string, floor: number): string | undefined {
  return lacksBytes(dataDir, floor) ?? (floor > 0 ? lacksFiles(dataDir) : undefined)
}

/** The same for the bytes alone. */
export function lacksBytes(dataDir: string, floor: number): string | undefined {
  const dir = foldersOf(dataDir).find((each) => left(each).bytes < floor * MB)
  if (dir === undefined) return undefined
  return `${Math.floor(left(dir).bytes / MB)} MB free in ${dir}: below ${floor} MB (DISK_FLOOR) no page is started`
}

function lacksFiles(dataDir: string): string | undefined {
  const dir = foldersOf(dataDir).find((each) => left(each).files < FILES_FLOOR)
  if (dir === undefined) return undefined
  return `room for ${left(dir).files} more files in ${dir} (df -i): below ${FILES_FLOOR} no page is started`
}

const foldersOf = (dataDir: string) => [dataDir, join(dataDir, 'archive')]

/** Is the disk full? */
export function isFull(dir: string): boolean {
  const { bytes, files } = left(dir)
  return bytes < FULL_BYTES || files === 0
}

/** Whether this error is about disk space: none left, or none left for us. */
export function isOutOfSpace(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** The space that a file system lets us use, and how many more files it can hold; Infinity where it does not tell. */
export function left(dir: string): { readonly bytes: number; readonly files: number } {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(dir)
    // btrfs, for example, has no fixed number.
    return { bytes: bavail * bsize, files: files === 0 ? Number.POSITIVE_INFINITY : ffree }
  } catch {
    return { bytes: Number.POSITIVE_INFINITY, files: Number.POSITIVE_INFINITY }
  }
}
