import { isAbsolute, join } from 'node:path'
import type { Texts } from '../../base/config.ts'
import { text } from '../../base/env-settings.ts'
import { AppError } from '../../base/errors.ts'
import { findProgram } from '../../base/find-program.ts'
import type { Browser } from './packaged.ts'

/** Says that there is no browser, and how to get one. */
export const NO_BROWSER_FOUND =
  'browser not found: npm install @sparticuz/chromium, or set CHROME_BINARY to a Chrome or Chromium'

/**
 * Finds the browser for captures: CHROME_BINARY (a path, or a name that is looked up in PATH), else the packaged one,
 * which is unpacked below DATA_DIR/lib on first use (as root, into a folder of the account that runs hooks).
 * @returns undefined when none is installed. Throws AppError when CHROME_BINARY names nothing that can be run.
 */
export async function findBrowser(env: Texts): Promise<Browser | undefined> {
  const name = text(env, 'CHROME_BINARY')
  if (name !== undefined) {
    const program = findProgram(name, env['PATH'])
    if (program === undefined)
      throw new AppError(`CHROME_BINARY not found: ${name}${isAbsolute(name) ? '' : ' is not in PATH'}`)
    return { program, env: {} }
  }
  const { unpackBrowser } = await import('./packaged.ts')
  return await unpackBrowser(env['ARCHIVEBOX_LIB_DIR'] ?? join(env['DATA_DIR'] ?? process.cwd(), 'lib'))
}
