import type { Texts } from './config.ts'
import { VERSION } from './version.ts'

/** Our name in robots.txt files. */
export const ROBOT = 'archivebox-ts'

/** The User-Agent of every request: the user's, else an honest one of ours, with a contact if one is set. */
export function userAgent(settings: Texts): string {
  const contact = settings['CONTACT']?.trim().replaceAll(/[^\x21-\x7e]/g, '')
  return (
    settings['USER_AGENT']?.trim() || `Mozilla/5.0 (compatible; ${ROBOT}/${VERSION}${contact ? `; +${contact}` : ''})`
  )
}
