import { closeSync, existsSync, fsync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/**
 * For processes that flush. A page has some twenty-five files and folders, and a disk writes together what is requested
 * together: all of them, not in Node's groups of four. 28 more threads take 0.3 MB.
 */
export const FLUSH_ENV = { UV_THREADPOOL_SIZE: '32' }

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

/** Flushes a folder with all its content; one that is missing or empty has none. */
export async function flushFolder(top: string): Promise<void> {
  const folders = existsSync(top) ? [top] : []
  const files: string[] = []
  for (const folder of folders)
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) folders.push(join(folder, entry.name))
      else if (entry.isFile()) files.push(join(folder, entry.name))
  if (files.length > 0 || folders.length > 1) await flush([...files, ...folders])
}

async function flushOne(path: string): Promise<void> {
  const fd = openSync(path, 'r')
  try {
    await synced(fd)
  } finally {
    closeSync(fd)
  }
}
