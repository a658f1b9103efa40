import { closeSync, openSync, readSync } from 'node:fs'

/** Longer than any shebang that a system takes. */
const SHEBANG_BYTES = 256

/**
 * Is this hook written for ArchiveBox's own runner? Those of its suite start through `abxpkg`, and each promises to
 * print an ArchiveResult.
 */
export function speaksUpstream(path: string): boolean {
  try {
    const fd = openSync(path, 'r')
    try {
      const head = Buffer.alloc(SHEBANG_BYTES)
      const shebang = head.toString('latin1', 0, readSync(fd, head, 0, head.length, 0)).split('\n', 1)[0]!
      return /^#!.*\babxpkg run\b/.test(shebang)
    } finally {
      closeSync(fd)
    }
  } catch {
    return false
  }
}
