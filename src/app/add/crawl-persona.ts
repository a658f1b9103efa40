import { join } from 'node:path'
import { readSetting } from '../../base/config.ts'
import { UsageError } from '../../base/errors.ts'
import { isExpired } from '../../browse/persona/cookie.ts'
import { DEFAULT_PERSONA } from '../../browse/persona/files.ts'
import { type Persona, readPersona } from '../../browse/persona/persona.ts'
import type { Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import { refusedOf, unknownPersona } from '../personas/find.ts'
import type { Refuse } from './refuse.ts'

/** A crawl's persona has cookies that have expired. */
export interface CookiesExpired {
  readonly event: 'cookies expired'
  readonly persona: string
  readonly cookies: number
  readonly expired: number
}

/**
 * The settings that a new crawl takes from its persona. A persona that does not exist, or cannot be read, is refused;
 * expired cookies are reported.
 * @param own the persona that the crawl itself names
 */
export async function crawlPersona(
  configured: Configured,
  own: string | undefined,
  { tell, refuse }: Pick<Call<CookiesExpired>, 'tell'> & { readonly refuse: Refuse },
): Promise<Persona['settings']> {
  const personas = join(configured.dataDir, 'personas')
  const name = own ?? readSetting('ACTIVE_PERSONA', configured.settings.texts)
  let persona: Persona | undefined
  try {
    persona = await readPersona(personas, name)
    if (!persona && name !== DEFAULT_PERSONA) throw unknownPersona(personas, name)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    refuse(error, 'persona')
  }
  if (!persona) return {}
  for (const why of refusedOf(configured, persona.settings))
    refuse(new UsageError(`persona ${name}: ${why}`), 'persona')
  const expired = persona.cookies.filter((cookie) => isExpired(cookie)).length
  if (expired > 0) tell?.({ event: 'cookies expired', persona: name, cookies: persona.cookies.length, expired })
  return persona.settings
}
