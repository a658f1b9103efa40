import { closeSync, existsSync, readSync } from 'node:fs'
import { openFile } from '../base/inside.ts'

/** More of a file is not read. */
const MOST_BYTES = 1_048_576

/** The beginning of a file that a plugin has published, as text; undefined: there is none. No link is followed. */
export function textIn(file: string, most = MOST_BYTES): string | undefined {
  // Most pages have few of them: an error costs more than to ask.
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
