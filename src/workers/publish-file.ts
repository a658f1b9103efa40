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
import { sha256Of } from '../base/sha256.ts'
import { ownIdentity } from '../processes/identity.ts'
import { bootId, hasProc, pidNamespace } from '../processes/proc.ts'
import { findProcess } from '../processes/table.ts'

const synced = promisify(fsync)

/** The age at which a temporary file of a writer that we cannot see (another container, machine or boot) is dead. */
const OLD_MS = 3_600_000

/** The part between a file's name and `.tmp`: namespace, pid and start time of its writer, and which of its files. */
const WRITER = /^([0-9a-f]{12})-(\d+)-(\d+)(?:-\d+)?$/
let written = 0

/**
 * Writes a file under a temporary name, flushes it and renames it into place, so that readers see the old version or
 * the new one. Several processes may write the same file at once, and so may several pages of one worker.
 */
export async function publishFile(file: string, text: string): Promise<void> {
  await publishFiles(dirname(file), { [basename(file)]: text })
}

/** As `publishFile`, several files of one folder, each by itself: when one fails, the others still are written. */
export async function publishFiles(folder: string, texts: Readonly<Record<string, string>>): Promise<void> {
  mkdirSync(folder, { recursive: true })
  await dropLeftovers(folder, Object.keys(texts))
  const all = Object.entries(texts).map(([name, text]) => publish(join(folder, name), text))
  await Promise.allSettled(all)
  await Promise.all(all)
}

async function publish(file: string, text: string): Promise<void> {
  const { pid, startTicks } = await ownIdentity()
  written += 1
  const aside = `${file}.${place()}-${pid}-${startTicks}-${written}.tmp`
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

/** Removes temporary files of writers that died. */
async function dropLeftovers(folder: string, files: readonly string[]): Promise<void> {
  for (const name of readdirSync(folder)) {
    const prefix = name.endsWith('.tmp')
      ? files.map((file) => `${file}.`).find((file) => name.startsWith(file))
      : undefined
    if (prefix === undefined) continue
    const path = join(folder, name)
    const [, where, pid, startTicks] = WRITER.exec(name.slice(prefix.length, -'.tmp'.length)) ?? []
    const isLeft = where === place() ? await isGone(Number(pid), Number(startTicks)) : isOld(path)
    if (isLeft) rmSync(path, { force: true })
  }
}

/** Names the pid namespace and boot that we run in. */
function place(): string {
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
