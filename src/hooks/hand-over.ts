import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lchownSync,
  mkdirSync,
  openSync,
  readdirSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { Account } from '../base/account.ts'
import { codeOf } from '../base/errors.ts'

// As root, hooks run as another account, in folders that are theirs. A hook that still runs could put a link where a
// folder was, and so lead root elsewhere. Root therefore makes the folders its own first, from the top down and through
// open descriptors, and they stay as they are from then on.

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
const IS_ROOT = process.geteuid?.() === 0
/** Not for others to write, and neither setuid nor setgid: such a file would run as its new owner. */
const RIGHTS = 0o755n

/** Makes the folders of a tree ours: nobody else adds, renames or removes anything in it from then on. */
export function freeze(top: string): void {
  if (IS_ROOT) walk(top, { folder: ours })
}

/** Makes a tree ours, with its files. One with several names may be somebody else's: it stays as it is. */
export function takeBack(top: string): void {
  if (IS_ROOT) walk(top, { folder: ours, file: ours })
}

/** Gives a tree that is ours to an account, with its files. Those with several names stay ours. */
export function handOver(top: string, account: Account | undefined): void {
  if (!account) return
  const { uid, gid } = account
  // Only once: a change of owner also changes the time by which `markOf` sees that a file was written to.
  const theirs: Use = (fd, stats) => {
    if (stats.uid !== BigInt(uid)) fchownSync(fd, uid, gid)
  }
  walk(top, { file: theirs, afterwards: theirs })
}

/** Gives an account a folder that was just made, in one of ours: it is empty, and nobody has replaced it. */
export function giveFolder(path: string, account: Account | undefined): void {
  if (account) lchownSync(path, account.uid, account.gid)
}

/** Makes an empty file in a folder of ours, or takes the one that is there, and gives it to an account. */
export function giveFile(path: string, account: Account): void {
  mkdirSync(dirname(path), { recursive: true })
  const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
  try {
    const stats = fstatSync(fd)
    if (stats.isFile() && stats.nlink === 1) fchownSync(fd, account.uid, account.gid)
  } finally {
    closeSync(fd)
  }
}

function ours(fd: number, stats: BigIntStats): void {
  if (stats.uid !== 0n) fchownSync(fd, 0, 0)
  if ((stats.mode & ~RIGHTS & 0o7777n) !== 0n) fchmodSync(fd, Number(stats.mode & RIGHTS))
}

type Use = (fd: number, stats: BigIntStats) => void
interface Uses {
  /** Each folder, before what is in it. */
  readonly folder?: Use
  /** Each folder, after what is in it. */
  readonly afterwards?: Use
  /** Each file that has this name alone. */
  readonly file?: Use
}

/** Walks a tree without following links, not even those that replace a folder meanwhile. */
function walk(path: string, uses: Uses): void {
  const fd = unlessElse(() => openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK))
  if (fd === undefined) return
  try {
    const stats = fstatSync(fd, { bigint: true })
    if (stats.isDirectory()) {
      uses.folder?.(fd, stats)
      const at = process.platform === 'linux' ? `/proc/self/fd/${fd}` : path
      for (const entry of readdirSync(at, { withFileTypes: true }))
        if (entry.isDirectory() || (uses.file && entry.isFile())) walk(`${at}/${entry.name}`, uses)
      uses.afterwards?.(fd, stats)
    } else if (stats.isFile() && stats.nlink === 1n) uses.file?.(fd, stats)
  } finally {
    closeSync(fd)
  }
}

/** Undefined when the path is a link, a socket or nothing by now. */
function unlessElse<T>(open: () => T): T | undefined {
  try {
    return open()
  } catch (error) {
    if (['ELOOP', 'ENOENT', 'ENOTDIR', 'ENXIO'].includes(codeOf(error) ?? '')) return undefined
    throw error
  }
}
