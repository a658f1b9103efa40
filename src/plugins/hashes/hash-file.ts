import { createHash, hash } from 'node:crypto'
import { closeSync, constants, createReadStream, fstatSync, openSync, readFileSync } from 'node:fs'
import { codeOf } from '../../base/errors.ts'

const STREAM_FROM_BYTES = 4 * 1024 * 1024

/**
 * Size and SHA-256 (hex) of a file; undefined when it no longer exists. Large files are streamed and stop at `signal`.
 */
export async function hashFile(
  path: string,
  signal: AbortSignal,
): Promise<{ size: number; sha256: string } | undefined> {
  let fd: number
  try {
    // The file may have been replaced by a symlink.
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ELOOP') return undefined
    throw error
  }
  try {
    if (fstatSync(fd).size < STREAM_FROM_BYTES) {
      const bytes = readFileSync(fd)
      return { size: bytes.length, sha256: hash('sha256', bytes) }
    }
    const sha256 = createHash('sha256')
    let size = 0
    for await (const chunk of createReadStream('', { fd, autoClose: false, highWaterMark: 1024 * 1024, signal })) {
      size += (chunk as Buffer).length
      sha256.update(chunk as Buffer)
    }
    return { size, sha256: sha256.digest('hex') }
  } finally {
    closeSync(fd)
  }
}
