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

/** How a file is written that takes the place of another one. */
export interface Replaced {
  /** Who may read it; standard: its owner alone. */
  readonly mode?: number
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined
  readonly times?: { readonly atime: Date; readonly mtime: Date }
  /** Where it is written; standard: beside it, `.new`, where one of a process that was killed is overwritten. */
  readonly aside?: string
}

/**
 * Replaces a file as a whole: whoever reads it sees the old one or the new one, also after a loss of power. Nothing is
 * written through a link that lies there. Two processes that replace one file at once need a lock, or another `aside`.
 * Throws errors of the file system, and leaves nothing then.
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
