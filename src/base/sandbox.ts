import type { Texts } from './config.ts'
import { flag } from './kinds.ts'

/**
 * Why a browser gets no sandbox, as far as known beforehand; undefined: it is to have one.
 * @param uid of the user that runs it
 */
export function unsandboxedBy(env: Texts, uid = process.getuid?.()): string | undefined {
  if (flag.read(env['CHROME_SANDBOX'] ?? 'true') === false) return 'CHROME_SANDBOX=false'
  return uid === 0 ? 'root may not have one' : undefined // The browser refuses to start.
}
