import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  futimesSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'

/** How a replaced file is written. */
export interface Replaced {
  /** Its mode; by default for its owner only. */
  readonly mode?: number
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined
  readonly times?: { readonly atime: Date; readonly mtime: Date }
  /** Where it is written first; by default beside it, as `.new`, which may overwrite that of a killed process. */
  readonly aside?: string
}

/**
 * Replaces a file as a whole: readers see the old one or the new one, even after a loss of power. Never writes through
 * a link. Two processes that replace one file at once need a lock, or different `aside` paths. Throws errors of the
 * file system, and leaves nothing behind then.
 */
export function replaceFile(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600, owner, times, aside = `${path}.new` }: Replaced = {},
): void {
  rmSync(aside, { force: true })
  try {
    const fd = openSync(aside, 'wx', 0o600)
    try {
      writeFileSync(fd, content)
      if (owner) fchownSync(fd, owner.uid, owner.gid)
      fchmodSync(fd, mode)
      if (times) futimesSync(fd, times.atime, times.mtime)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(aside, path)
  } catch (error) {
    rmSync(aside, { force: true })
    throw error
  }
}
