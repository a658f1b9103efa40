import { closeSync, fsync, openSync } from 'node:fs'
import { promisify } from 'node:util'

const MOST_AT_ONCE = 64
const synced = promisify(fsync)

/**
 * Flushes files and folders to disk in parallel: a journaling disk writes them together, so the wait is that of a few.
 * Large sets go in portions, since each file takes a descriptor.
 */
export async function flush(paths: readonly string[]): Promise<void> {
  for (let at = 0; at < paths.length; at += MOST_AT_ONCE)
    await Promise.all(paths.slice(at, at + MOST_AT_ONCE).map(flushOne))
}

async function flushOne(path: string): Promise<void> {
  const fd = openSync(path, 'r')
  try {
    await synced(fd)
  } finally {
    closeSync(fd)
  }
}
