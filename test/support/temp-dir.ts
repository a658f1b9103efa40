import { chmodSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const FOLDER = 'TEST_TEMP_DIR'
/** What all tests of a run share: npm's cache, and the browser (packaged-browser.ts). */
const SHARED = new Set(['node-compile-cache', 'lib'])

/**
 * For vitest's globalSetup: one temporary directory for all tests of a run. What it returns takes it away, and throws
 * when tests left something in it.
 */
export default function setup(): (() => void) | undefined {
  if (process.env[FOLDER] !== undefined) return undefined // Another project of the same run has done it.
  const former = process.env['TMPDIR']
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'abx-'))
  chmodSync(folder, 0o1777) // Some tests are other users.
  Object.assign(process.env, { TMPDIR: folder, [FOLDER]: folder })
  return () => {
    if (former === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = former
    const left = readdirSync(folder).filter((name) => !SHARED.has(name))
    rmSync(folder, { recursive: true, force: true })
    if (left.length > 0) throw new Error(`tests left behind in ${folder}: ${left.join(', ')}`)
  }
}
