import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { Account } from '../base/account.ts'
import { mimeOf } from '../base/mime.ts'
import type { OutputFile } from '../db/tables.ts'
import { type CopiedTree, listTree, MAX_FILES, markIn, unlessChanged } from './copy-tree.ts'

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
  if (IS_ROOT) walk(top, { folder: ours, file: oursToo })
}

/** Takes over a tree, and lists it as its hook left it, like `listTree`: in one walk, since a page has many. */
export function takeListed(top: string): CopiedTree | undefined {
  if (!IS_ROOT) return listTree(top)
  const files = new Map<string, OutputFile>()
  const marks = new Map<string, string>()
  const folders: string[] = []
  let isPlain = true
  walk(top, {
    folder: (fd, stats, path) => {
      ours(fd, stats)
      folders.push(path)
    },
    file: (at, stats, path) => {
      oursToo(at, stats)
      files.set(path, { size: Number(stats.size), mimetype: mimeOf(path) })
      marks.set(path, markIn(stats))
    },
    other: () => {
      isPlain = false
    },
  })
  return isPlain && files.size <= MAX_FILES ? { files, marks, folders } : undefined
}

/** Gives a tree of ours to an account, with its files. Those with several names stay ours. */
export function handOver(top: string, account: Account | undefined): void {
  if (!account) return
  const { uid, gid } = account
  // Only once: a change of owner also changes the time by which `markOf` sees that a file was written to.
  const isOthers = (stats: BigIntStats) => stats.uid !== BigInt(uid)
  walk(top, {
    file: (at, stats) => isOthers(stats) && lchownSync(at, uid, gid),
    afterwards: (fd, stats) => isOthers(stats) && fchownSync(fd, uid, gid),
  })
}

/** Gives an account what was just created inside a folder of ours: nobody has replaced it. */
export function giveNew(path: string, account: Account | undefined): void {
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

const isWide = ({ mode }: BigIntStats) => (mode & ~RIGHTS & 0o7777n) !== 0n

// Until it changes, its owner may change the mode that we have seen.
function ours(fd: number, stats: BigIntStats): void {
  if (stats.uid !== 0n) fchownSync(fd, 0, 0)
  if (stats.uid !== 0n || isWide(stats)) fchmodSync(fd, Number(stats.mode & RIGHTS))
}

function oursToo(file: string, stats: BigIntStats): void {
  if (stats.uid !== 0n) lchownSync(file, 0, 0)
  if (stats.uid !== 0n || isWide(stats)) chmodSync(file, Number(stats.mode & RIGHTS))
}

/** @param path relative to the top; '' is the top itself */
type Use<What> = (what: What, stats: BigIntStats, path: string) => void
interface Uses {
  /** Each folder, open, before its content. */
  readonly folder?: Use<number>
  /** Each folder, open, after its content. */
  readonly afterwards?: Use<number>
  /**
   * Each file that has only this name, by a path through its open folder. That is ours while files are looked at:
   * nobody else replaces one.
   */
  readonly file?: Use<string>
  /** Called for anything else. */
  readonly other?: () => void
}

/** Walks a tree without following links, not even those that replace a folder meanwhile. */
function walk(path: string, uses: Uses, inner = ''): void {
  const fd = unlessChanged(() => openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK))
  if (fd === undefined) {
    uses.other?.() // Also a name that is not UTF-8.
    return
  }
  try {
    const stats = fstatSync(fd, { bigint: true })
    if (!stats.isDirectory()) {
      uses.other?.()
      return
    }
    uses.folder?.(fd, stats, inner)
    const at = process.platform === 'linux' ? `/proc/self/fd/${fd}` : path
    for (const entry of readdirSync(at, { withFileTypes: true })) {
      const below = inner === '' ? entry.name : `${inner}/${entry.name}`
      if (entry.isDirectory()) walk(`${at}/${entry.name}`, uses, below)
      else if (uses.file && entry.isFile()) useFile(`${at}/${entry.name}`, uses, below)
      else uses.other?.()
    }
    uses.afterwards?.(fd, stats, inner)
  } finally {
    closeSync(fd)
  }
}

function useFile(path: string, { file, other }: Uses, inner: string): void {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  if (stats?.isFile() && stats.nlink === 1n) file?.(path, stats, inner)
  else other?.()
}
