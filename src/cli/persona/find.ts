import { join } from 'node:path'
import { readSetting } from '../../base/config.ts'
import { openDataDir } from '../../base/data-dir.ts'
import { UsageError } from '../../base/errors.ts'
import { personaName } from '../../base/kinds.ts'
import { closest } from '../../base/near-miss.ts'
import { personasIn } from '../../base/persona/files.ts'
import { type Persona, readPersona } from '../../base/persona/persona.ts'
import { makePersona } from '../../base/persona/write.ts'
import type { Asked } from '../settings.ts'
import { terminal } from '../terminal.ts'

/** The folder of the data dir's personas, and the persona of crawls that name none. */
export function personasOf(asked: Asked): { readonly personas: string; readonly active: string } {
  const personas = join(openDataDir(asked.dataDir, 'never'), 'personas')
  asked.problems.refuse()
  return { personas, active: readSetting('ACTIVE_PERSONA', asked.settings.texts) }
}

/** The persona of this name. Throws UsageError when there is none. */
export async function findPersona(personas: string, name: string): Promise<Persona> {
  const found = await readPersona(personas, name)
  if (found) return found
  throw unknownPersona(personas, name)
}

/** Likewise; one that is not there is made, unless the name is nearly that of another. */
export async function findOrMake(personas: string, name: string): Promise<Persona> {
  const found = await readPersona(personas, name)
  if (found) return found
  if (closest(name, personasIn(personas)) !== undefined) throw unknownPersona(personas, name)
  checkName(name)
  makePersona(personas, name)
  terminal.say(`made persona ${name}`)
  return (await readPersona(personas, name))!
}

/** Throws UsageError for a name that no persona can have. */
export function checkName(name: string): void {
  if (personaName.read(name) !== name) throw new UsageError(`a persona has ${personaName.takes}, not "${name}"`)
}

/** That there is no such persona, and what to do. */
export function unknownPersona(personas: string, name: string): UsageError {
  const meant = closest(name, personasIn(personas))
  return new UsageError(
    `there is no persona "${name}"${meant === undefined ? '' : `: did you mean ${meant}?`}`,
    'archivebox-ts persona list shows them, persona new makes one',
  )
}
