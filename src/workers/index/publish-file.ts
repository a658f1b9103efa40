import {
  closeSync,
  existsSync,
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
import { failpoint } from '../../base/failpoint.ts'
import { flush } from '../../base/flush.ts'
import { sha256Of } from '../../base/sha256.ts'
import { ownIdentity } from '../../processes/identity.ts'
import { bootId, hasProc, pidNamespace } from '../../processes/proc.ts'
import { findProcess } from '../../processes/table.ts'

const synced = promisify(fsync)

/** The age at which a temporary file of a writer that we cannot see (another container, machine or boot) is dead. */
const OLD_MS = 3_600_000

/** The part between a file's name and `.tmp`: namespace, pid and start time of its writer, and which of its files. */
const WRITER = /^([0-9a-f]{12})-(\d+)-(\d+)(?:-\d+)?$/
let written = 0

/**
 * Writes a file under a temporary name and renames it into place, so that readers see the old version or the new one,
 * also after a power cut: what replaces a file is flushed before. When this returns, the file is on disk. Several
 * processes may write the same file at once, and so may several pages of one worker.
 */
export async function publishFile(file: string, text: string): Promise<void> {
  await publishFiles(dirname(file), { [basename(file)]: text })
}

/**
 * As `publishFile`, for several files of one folder, independently: when one fails, the others are still written.
 * @param others files and folders that are flushed with them, as soon as all have their names: a disk writes together
 *   what is requested together
 */
export async function publishFiles(
  folder: string,
  texts: Readonly<Record<string, string>>,
  others: readonly string[] = [],
): Promise<void> {
  mkdirSync(folder, { recursive: true })
  await dropLeftovers(folder, Object.keys(texts))
  const placing = Object.entries(texts).map(([name, text]) => place(join(folder, name), text))
  const placed = await Promise.allSettled(placing)
  const unflushed = placed.flatMap((file) =>
    file.status === 'fulfilled' && file.value !== undefined ? [file.value] : [],
  )
  await flush([...unflushed, ...others])
  await Promise.all(placing)
}

/** @returns the file, if it is yet to be flushed: there was none of its name */
async function place(file: string, text: string): Promise<string | undefined> {
  const isNew = !existsSync(file)
  const { pid, startTicks } = await ownIdentity()
  written += 1
  const aside = `${file}.${here()}-${pid}-${startTicks}-${written}.tmp`
  const fd = openSync(aside, 'w', 0o644)
  try {
    writeFileSync(fd, text)
    if (!isNew) await synced(fd)
  } catch (error) {
    rmSync(aside, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
  await failpoint('publish.file_aside')
  try {
    renameSync(aside, file)
    await failpoint('publish.file_renamed')
  } catch (error) {
    rmSync(aside, { force: true }) // A folder has its name.
    throw error
  }
  return isNew ? file : undefined
}

/** Removes temporary files of writers that died. */
async function dropLeftovers(folder: string, files: readonly string[]): Promise<void> {
  for (const name of readdirSync(folder)) {
    const prefix = name.endsWith('.tmp')
      ? files.map((file) => `${file}.`).find((file) => name.startsWith(file))
      : undefined
    if (prefix === undefined) continue
    const path = join(folder, name)
    const [, where, pid, startTicks] = WRITER.exec(name.slice(prefix.length, -'.tmp'.length)) ?? []
    const isLeft = where === here() ? await isGone(Number(pid), Number(startTicks)) : isOld(path)
    if (isLeft) rmSync(path, { force: true })
  }
}

/** Names the pid namespace and boot that we run in. */
function here(): string {
  known ??= sha256Of(`${hostname()} ${bootId()} ${pidNamespace()}`).slice(0, 12)
  return known
}
let known: string | undefined

/** Without /proc, start times come from `ps` and are not exact: any process with this pid counts as the writer. */
async function isGone(pid: number, startTicks: number): Promise<boolean> {
  const now = await findProcess(pid)
  return now === null || (hasProc && now.startTicks !== startTicks)
}

function isOld(path: string): boolean {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > OLD_MS
}
