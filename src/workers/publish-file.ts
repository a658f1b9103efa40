import { createHash } from 'node:crypto'
import {
  closeSync,
  fsync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { failpoint } from '../base/failpoint.ts'
import { ownIdentity } from '../processes/identity.ts'
import { bootId, hasProc, pidNamespace } from '../processes/proc.ts'
import { findProcess } from '../processes/table.ts'

const synced = promisify(fsync)

/** Of a writer that we cannot see (in another container, on another machine, of another boot): none takes so long. */
const OLD_MS = 3_600_000

/**
 * What stands between a file's own name and `.tmp` while it is written aside: where its writer runs, and who that is.
 */
const WRITER = /^([0-9a-f]{12})-(\d+)-(\d+)$/

/**
 * Writes a file aside, flushed, and renames it into place: a reader sees the old one or the new one. Several processes
 * may write it at once.
 */
export async function publishFile(file: string, text: string): Promise<void> {
  const { pid, startTicks } = await ownIdentity()
  const aside = `${file}.${place()}-${pid}-${startTicks}.tmp`
  mkdirSync(dirname(file), { recursive: true })
  await dropLeftovers(file)
  const fd = openSync(aside, 'w', 0o644)
  try {
    writeFileSync(fd, text)
    await synced(fd)
  } catch (error) {
    rmSync(aside, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
  await failpoint('publish.file_aside')
  renameSync(aside, file)
  await failpoint('publish.file_renamed')
}

/** What writers left beside a file when they died half-way. */
async function dropLeftovers(file: string): Promise<void> {
  const prefix = `${basename(file)}.`
  for (const name of readdirSync(dirname(file))) {
    if (!name.startsWith(prefix) || !name.endsWith('.tmp')) continue
    const path = join(dirname(file), name)
    const [, where, pid, startTicks] = WRITER.exec(name.slice(prefix.length, -'.tmp'.length)) ?? []
    const isLeft = where === place() ? await isGone(Number(pid), Number(startTicks)) : isOld(path)
    if (isLeft) rmSync(path, { force: true })
  }
}

/** Where pids mean the same as here. */
function place(): string {
  return createHash('sha256').update(`${hostname()} ${bootId()} ${pidNamespace()}`).digest('hex').slice(0, 12)
}

/** The start times of `ps` are not exact: where it is all there is, whoever has the pid is taken for the writer. */
async function isGone(pid: number, startTicks: number): Promise<boolean> {
  const now = await findProcess(pid)
  return now === null || (hasProc && now.startTicks !== startTicks)
}

function isOld(path: string): boolean {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > OLD_MS
}
