import { closeSync, fsyncSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, messageOf, UsageError } from './errors.ts'
import { sha256Of } from './sha256.ts'

/**
 * The file of the data dir with what somebody has set here, on a command line or in a persona: `NAME sha256` a line,
 * of `NAME=value`. Rows come from others, too (records, backups, whoever can write to the database), so a row that
 * tells a program what to do is believed when the same stands here. Programs that were found here, and requests of our
 * hooks for some, stand there as `program` and `request`. It only grows, by what was not there yet.
 */
export const TRUSTED_FILE = 'trusted-settings'

const HEAD = '# What was set or found here, which rows of the database may say, too. A line may go: then no row may.\n'

/** The lines of a file, and how it looked then. */
const read = new Map<string, { readonly stamp: string; readonly lines: ReadonlySet<string> }>()

/** Has somebody set this here? */
export function isTrusted(dataDir: string, name: string, value: string): boolean {
  return linesIn(join(dataDir, TRUSTED_FILE)).has(lineOf(name, value))
}

/** Notes what somebody sets here; it is on disk then. Throws UsageError where that cannot be written. */
export function trust(dataDir: string, settings: readonly (readonly [name: string, value: string])[]): void {
  const file = join(dataDir, TRUSTED_FILE)
  const known = linesIn(file)
  const fresh = new Set(settings.map(([name, value]) => lineOf(name, value)).filter((line) => !known.has(line)))
  if (fresh.size === 0) return
  try {
    const fd = openSync(file, 'a', 0o600)
    try {
      writeSync(fd, `${known.size === 0 ? HEAD : ''}${[...fresh].map((line) => `${line}\n`).join('')}`)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${messageOf(error)}`)
  }
}

const lineOf = (name: string, value: string) => `${name} ${sha256Of(`${name}=${value}`)}`

/** A file that is not there, or that we may not read, has none. */
function linesIn(file: string): ReadonlySet<string> {
  try {
    const { ino, size, mtimeMs } = statSync(file)
    const stamp = `${ino} ${size} ${mtimeMs}`
    const before = read.get(file)
    if (before?.stamp === stamp) return before.lines
    const lines = new Set(readFileSync(file, 'utf8').split('\n'))
    read.set(file, { stamp, lines })
    return lines
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '')) return new Set()
    throw error
  }
}
