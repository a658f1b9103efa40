import type { Texts } from './config.ts'
import { flag } from './kinds.ts'

/**
 * Why a browser has no sandbox, before anything is tried; undefined: it shall have one.
 * @param uid of whoever runs it
 */
export function unsandboxedBy(env: Texts, uid = process.getuid?.()): string | undefined {
  if (flag.read(env['CHROME_SANDBOX'] ?? 'true') === false) return 'CHROME_SANDBOX=false'
  return uid === 0 ? 'root may not have one' : undefined // The browser refuses to start.
}
