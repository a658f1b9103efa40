import { closeSync, existsSync, readSync } from 'node:fs'
import { openFile } from '../base/inside.ts'

/** The most that is read of a file. */
const MOST_BYTES = 1_048_576

/** The beginning of a file that a plugin has published, as text; undefined: there is none. Follows no link. */
export function textIn(file: string, most = MOST_BYTES): string | undefined {
  // Most pages have few of them, and an error costs more than a check.
  if (!existsSync(file)) return undefined
  const fd = openFile(file)
  if (fd === undefined) return undefined
  try {
    const bytes = Buffer.allocUnsafe(most)
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, most, 0))
  } finally {
    closeSync(fd)
  }
}
