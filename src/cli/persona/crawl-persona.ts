import { join } from 'node:path'
import { readSetting } from '../../base/config.ts'
import { isExpired } from '../../base/persona/cookie.ts'
import { DEFAULT_PERSONA } from '../../base/persona/files.ts'
import { type Persona, readPersona } from '../../base/persona/persona.ts'
import { many } from '../format.ts'
import { onStderr } from '../screen/palette.ts'
import type { Asked } from '../settings.ts'
import { terminal } from '../terminal.ts'
import { unknownPersona } from './find.ts'
import { refusedOf } from './settings.ts'

/**
 * The settings that a new crawl takes on from its persona. One that is not there, or cannot be read, is a problem; one
 * whose cookies have expired is said.
 * @param own the persona that the crawl itself names
 */
export async function crawlPersona(asked: Asked, own: string | undefined): Promise<Persona['settings']> {
  const { problems } = asked
  const personas = join(asked.dataDir, 'personas')
  const name = own ?? readSetting('ACTIVE_PERSONA', asked.settings.texts)
  const before = problems.all.length
  const persona = await readPersona(personas, name).catch((error: unknown) => problems.keep(error))
  if (!persona) {
    if (name !== DEFAULT_PERSONA && problems.all.length === before) problems.keep(unknownPersona(personas, name))
    return {}
  }
  for (const why of refusedOf(asked, persona.settings)) problems.add(`persona ${name}: ${why}`)
  sayExpired(persona)
  return persona.settings
}

function sayExpired({ name, cookies }: Persona): void {
  const expired = cookies.filter((cookie) => isExpired(cookie)).length
  if (expired === 0) return
  terminal.say(
    `${onStderr.yellow('careful:')} ${expired} of ${many(cookies.length, 'cookie')} of persona ${name} ` +
      `${expired === 1 ? 'has' : 'have'} expired: archivebox-ts persona show ${name}`,
  )
}
