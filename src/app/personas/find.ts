import type { Texts } from '../../base/config.ts'
import { UsageError } from '../../base/errors.ts'
import { personaName } from '../../base/kinds.ts'
import { closest } from '../../base/near-miss.ts'
import { personasIn } from '../../browse/persona/files.ts'
import { type Persona, readPersona } from '../../browse/persona/persona.ts'
import type { Configured } from '../archive.ts'

/** The persona of this name. Throws UsageError when there is none. */
export async function findPersona(personas: string, name: string): Promise<Persona> {
  const found = await readPersona(personas, name)
  if (found) return found
  throw unknownPersona(personas, name)
}

/** Throws UsageError for a name that no persona can have. */
export function checkName(name: string): void {
  if (personaName.read(name) !== name) throw new UsageError(`a persona has ${personaName.takes}, not "${name}"`)
}

/** The error for an unknown persona, with what to do. */
export function unknownPersona(personas: string, name: string): UsageError {
  const meant = closest(name, personasIn(personas))
  return new UsageError(
    `there is no persona "${name}"${meant === undefined ? '' : `: did you mean ${meant}?`}`,
    'archivebox-ts persona list shows them, persona new creates one',
  )
}

/** Why a persona cannot have these settings, one per line. */
export function refusedOf({ known, settings }: Configured, texts: Texts): string[] {
  return Object.entries(texts).flatMap(([name, text = '']) => {
    const why = known.refusalForCrawl(name, text, settings.texts)
    if (why !== undefined) return [why]
    if (name === 'ACTIVE_PERSONA') return ['ACTIVE_PERSONA chooses a persona: it cannot be set in one']
    if (known.isFrozen(name, text)) return []
    return [`${name} is not a setting of a persona: set it in the environment or in archivebox.toml`]
  })
}
