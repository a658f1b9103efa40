import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OWNER, own, removeDeadRuns } from './dead-runs.ts'
import { NIGHTLY } from './seed.ts'

const FOLDER = 'TEST_TEMP_DIR'
/** Entries that all tests of a run share: npm's cache, the browser (packaged-browser.ts), and the owner of the run. */
const SHARED = new Set(['node-compile-cache', 'lib', OWNER])
const SHM = '/dev/shm'
/** The type that Linux gives file systems in memory. */
const TMPFS = 0x01021994
/** Bytes that a run may need in memory: it was seen to use a quarter of them. */
const ROOM = 4 * 1024 ** 3

/**
 * For vitest's globalSetup: makes one temporary directory for all tests of a run, and first removes the leftovers of
 * killed runs.
 * @returns removes it, and throws when tests left something in it
 */
export default async function setup(): Promise<(() => void) | undefined> {
  if (process.env[FOLDER] !== undefined) return undefined // Another project of the same run has done it.
  const former = process.env['TMPDIR']
  for (const parent of new Set([tmpdir(), SHM])) if (existsSync(parent)) await removeDeadRuns(parent)
  const folder = inMemory() ?? mkdtempSync(join(realpathSync(tmpdir()), 'abx-'))
  chmodSync(folder, 0o1777) // Some tests run as other users.
  await own(folder)
  Object.assign(process.env, { TMPDIR: folder, [FOLDER]: folder })
  return () => {
    if (former === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = former
    const left = readdirSync(folder).filter((name) => !SHARED.has(name))
    rmSync(folder, { recursive: true, force: true })
    if (left.length > 0) throw new Error(`tests left behind in ${folder}: ${left.join(', ')}`)
  }
}

/**
 * A folder in memory, if there is room for twice as much, also in the container that we may be in, and programs can be
 * run from it; at night the disk is used. Each database of a test is 300 files, created and removed: that takes a third
 * of a second of CPU on an ext4 without a journal, which skips over recently removed files.
 */
function inMemory(): string | undefined {
  if (process.env['TMPDIR'] !== undefined || NIGHTLY || process.availableMemory() < 2 * ROOM) return undefined
  let folder: string | undefined
  try {
    const { type, bavail, bsize } = statfsSync(SHM)
    if (type !== TMPFS || bavail * bsize < ROOM) return undefined
    folder = mkdtempSync(join(SHM, 'abx-'))
    const script = join(folder, 'may-run')
    writeFileSync(script, '#!/bin/sh\n', { mode: 0o755 })
    const { status } = spawnSync(script)
    rmSync(script)
    if (status === 0) return folder
  } catch {
    // Not there, or not ours.
  }
  if (folder !== undefined) rmSync(folder, { recursive: true })
  return undefined
}
