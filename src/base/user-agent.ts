import type { Texts } from './config.ts'
import { VERSION } from './version.ts'

/** The name by which robots.txt files know us. */
export const ROBOT = 'archivebox-ts'

/** The User-Agent of every request: the user's, else an honest one of ours, with whom to ask where that is set. */
export function userAgent(settings: Texts): string {
  const contact = settings['CONTACT']?.trim().replaceAll(/[^\x21-\x7e]/g, '')
  return (
    settings['USER_AGENT']?.trim() || `Mozilla/5.0 (compatible; ${ROBOT}/${VERSION}${contact ? `; +${contact}` : ''})`
  )
}
