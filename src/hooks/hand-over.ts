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
  if (IS_ROOT) walk(top, { folder: ours, file: ours })
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
    file: (fd, stats, path) => {
      if (path === '') return // It is no tree.
      ours(fd, stats)
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
  const theirs: Use = (fd, stats) => {
    if (stats.uid !== BigInt(uid)) fchownSync(fd, uid, gid)
  }
  walk(top, { file: theirs, afterwards: theirs })
}

/** Gives an account a folder that was just created, inside one of ours: it is empty, and nobody has replaced it. */
export function giveFolder(path: string, account: Account | undefined): void {
  if (account) lchownSync(path, account.uid, account.gid)
}

/** Creates empty files in one folder of ours, or takes existing ones, and gives them to an account. */
export function giveFiles(paths: readonly string[], account: Account): void {
  for (const folder of new Set(paths.map((path) => dirname(path)))) mkdirSync(folder, { recursive: true })
  for (const path of paths) giveFile(path, account)
}

function giveFile(path: string, account: Account): void {
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

/** @param path relative to the top; '' is the top itself */
type Use = (fd: number, stats: BigIntStats, path: string) => void
interface Uses {
  /** Each folder, before its content. */
  readonly folder?: Use
  /** Each folder, after its content. */
  readonly afterwards?: Use
  /** Each file that has only this name. */
  readonly file?: Use
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
    if (stats.isDirectory()) {
      uses.folder?.(fd, stats, inner)
      const at = process.platform === 'linux' ? `/proc/self/fd/${fd}` : path
      for (const entry of readdirSync(at, { withFileTypes: true }))
        if (entry.isDirectory() || (uses.file && entry.isFile()))
          walk(`${at}/${entry.name}`, uses, inner === '' ? entry.name : `${inner}/${entry.name}`)
        else uses.other?.()
      uses.afterwards?.(fd, stats, inner)
    } else if (stats.isFile() && stats.nlink === 1n) uses.file?.(fd, stats, inner)
    else uses.other?.()
  } finally {
    closeSync(fd)
  }
}
