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
import { unlessChanged } from './copy-tree.ts'

// As root, hooks run as another account, in folders of that account. A hook that still runs could replace a folder by a
// link, and so lead root elsewhere. Root therefore takes over the folders first, from the top down and through open
// descriptors, and from then on they stay as they are.

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
const IS_ROOT = process.geteuid?.() === 0
/** Not writable for others, and neither setuid nor setgid: such a file would run as its new owner. */
const RIGHTS = 0o755n

/** Takes over the folders of a tree: from then on nobody else adds, renames or removes anything in it. */
export function freeze(top: string): void {
  if (IS_ROOT) walk(top, { folder: ours })
}

/** Takes over a tree, with its files. One with several names may be somebody else's: it stays as it is. */
export function takeBack(top: string): void {
  if (IS_ROOT) walk(top, { folder: ours, file: ours })
}

/** Gives a tree of ours to an account, with its files. Those with several names stay ours. */
export function handOver(top: string, account: Account | undefined): void {
  if (!account) return
  const { uid, gid } = account
  // Only once: a change of owner also changes the time by which `markOf` sees that a file was written to.
  const theirs: Use = (fd, stats) => {
    if (stats.uid !== BigInt(uid)) fchownSync(fd, uid, gid)
  }
  walk(top, { file: theirs, afterwards: theirs })
}

/** Gives an account a folder that was just created, inside one of ours: it is empty, and nobody has replaced it. */
export function giveFolder(path: string, account: Account | undefined): void {
  if (account) lchownSync(path, account.uid, account.gid)
}

/** Creates an empty file in a folder of ours, or takes an existing one, and gives it to an account. */
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
  /** Each folder, before its content. */
  readonly folder?: Use
  /** Each folder, after its content. */
  readonly afterwards?: Use
  /** Each file that has only this name. */
  readonly file?: Use
}

/** Walks a tree without following links, not even those that replace a folder meanwhile. */
function walk(path: string, uses: Uses): void {
  const fd = unlessChanged(() => openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK))
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
