import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf } from '../../base/errors.ts'
import { explainDisk } from './disk-errors.ts'
import { makeEnterable } from './server-dir.ts'

/**
 * Creates the directory `target` in one step, unless it exists: `make` fills a temporary directory and returns the path
 * that is to become `target`. Several processes may do this at once; the first one's work stays. Throws AppError when
 * the disk refuses.
 */
export function copyAside(target: string, make: (aside: string) => string): void {
  if (existsSync(target)) return
  const base = dirname(target)
  const aside = join(base, `.copy-${randomUUID()}`)
  try {
    makeEnterable(base)
    removeAbandoned(base)
    mkdirSync(aside)
    chmodSync(aside, 0o755)
    const made = make(aside)
    writeThrough(aside)
    renameSync(made, target)
  } catch (error) {
    const code = codeOf(error)
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw explainDisk(error, base)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

/** Removes copies that were killed half-way: an hour is far longer than any copy takes. */
function removeAbandoned(base: string): void {
  for (const name of readdirSync(base)) {
    const path = join(base, name)
    const found = name.startsWith('.copy-') ? statSync(path, { throwIfNoEntry: false }) : undefined
    if (found && Date.now() - found.mtimeMs > 3_600_000) rmSync(path, { recursive: true, force: true })
  }
}

/** Files that are reused for ever must not be empty after a power cut. */
function writeThrough(dir: string): void {
  try {
    execFileSync('sync', ['-f', dir], { stdio: 'ignore' })
  } catch {
    // There is no such program or option here: the system writes them within half a minute.
  }
}
