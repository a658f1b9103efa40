import { join } from 'node:path'
import { checkName, unknownPersona } from '../../app/personas/find.ts'
import { readSetting } from '../../base/config.ts'
import { openDataDir } from '../../base/data-dir.ts'
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

/** The persona of this name; one that is not there is made, unless the name is nearly that of another. */
export async function findOrMake(personas: string, name: string): Promise<Persona> {
  const found = await readPersona(personas, name)
  if (found) return found
  if (closest(name, personasIn(personas)) !== undefined) throw unknownPersona(personas, name)
  checkName(name)
  makePersona(personas, name)
  terminal.say(`made persona ${name}`)
  return (await readPersona(personas, name))!
}
