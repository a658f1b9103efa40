import { chownSync, fchownSync, fstatSync, mkdirSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const CAP_BYTES = 10 * 1024 * 1024

/**
 * Opens the server's log for appending, in a directory that is created if missing; a log above 10 MB becomes `.1`
 * first. We open it, and the server inherits the file: so it may be where the server's own user cannot go.
 */
export function openLog(path: string): number {
  const dir = dirname(path)
  if (mkdirSync(dir, { recursive: true })) giveToOwnerOf(dirname(dir), (uid, gid) => chownSync(dir, uid, gid))
  const size = statSync(path, { throwIfNoEntry: false })?.size
  if (size !== undefined && size > CAP_BYTES) renameSync(path, `${path}.1`)
  const fd = openSync(path, 'a+', 0o600)
  if (fstatSync(fd).size === 0) giveToOwnerOf(dir, (uid, gid) => fchownSync(fd, uid, gid))
  return fd
}

/**
 * What root creates in a user's data directory must belong to that user, or they could not start their server again.
 */
function giveToOwnerOf(dir: string, give: (uid: number, gid: number) => void): void {
  const { uid, gid } = statSync(dir)
  if (process.geteuid?.() === 0 && uid !== 0) give(uid, gid)
}

/** Its current length: where the messages of a server that is about to start will begin. */
export const lengthOf = (fd: number): number => fstatSync(fd).size

/** What was written after `start`, at most the last 16 kB of it. */
export function textSince(fd: number, start: number): string {
  const end = lengthOf(fd)
  const from = Math.max(start, end - 16_384)
  const bytes = Buffer.alloc(Math.max(0, end - from))
  return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, from))
}
