import { existsSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, unpackBrowser } from '../../src/browse/browser/packaged.ts'
import { ROOT } from './program.ts'

const PACKAGE = join(ROOT, 'node_modules', '@sparticuz', 'chromium')

/** Why there is no packaged browser: empty when there is. */
export const noPackage = existsSync(PACKAGE) ? '' : ' (needs the package @sparticuz/chromium)'

/** Unpacked once for all tests of a run, in the folder that is removed after it. */
export const LIB = join(tmpdir(), 'lib')

export const packagedBrowser = async (): Promise<Browser> => (await unpackBrowser(LIB))!

/** Gives a data dir the unpacked browser. */
export async function givePackagedBrowser(dataDir: string): Promise<void> {
  await packagedBrowser()
  symlinkSync(LIB, join(dataDir, 'lib'))
}
