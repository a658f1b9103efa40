import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { editConfig, type TomlValue } from '../../base/config-edit.ts'
import { UsageError } from '../../base/errors.ts'
import { closest } from '../../base/near-miss.ts'
import { PERSONA_FILE, personasIn } from '../../browse/persona/files.ts'
import { type Persona, readPersona } from '../../browse/persona/persona.ts'
import { makePersona } from '../../browse/persona/write.ts'
import type { Call } from '../call.ts'
import { checkName, findPersona, unknownPersona } from './find.ts'
import { allPersonas } from './record.ts'

/** Settings of a persona, as in its file. */
export type PersonaSettings = ReadonlyMap<string, TomlValue>

/** Creates a persona with these settings. Throws UsageError for a name that exists already, in any case of letters. */
export async function newPersona(personas: string, name: string, settings: PersonaSettings): Promise<Persona> {
  checkName(name)
  if ((await allPersonas(personas)).some((each) => each.name.toLowerCase() === name.toLowerCase()))
    throw new UsageError(`the persona "${name}" exists already`, `archivebox-ts persona show ${name}`)
  const { folder } = makePersona(personas, name)
  await editConfig(folder, settings, PERSONA_FILE)
  return await findPersona(personas, name)
}

/** Changes settings in the file of a persona; comments and everything else stay as they are. */
export async function setPersona(personas: string, name: string, settings: PersonaSettings): Promise<void> {
  const { files } = await findPersona(personas, name)
  await editConfig(files.folder, settings, PERSONA_FILE)
}

/** The names of these personas, whose files may be broken. Throws UsageError for an unknown one. */
export async function namesOf(personas: string, names: readonly string[]): Promise<string[]> {
  const all = await allPersonas(personas)
  const isBroken = (name: string) => all.some((each) => each.name === name && 'problem' in each)
  return await Promise.all(
    names.map(async (name) => (isBroken(name) ? name : (await findPersona(personas, name)).name)),
  )
}

/** Deletes personas, with cookies and logins. Throws UsageError for an unknown one, and then deletes none. */
export function deletePersonas(personas: string, names: readonly string[]): void {
  const there = personasIn(personas)
  const unknown = names.find((name) => !there.includes(name))
  if (unknown !== undefined) throw unknownPersona(personas, unknown)
  for (const name of names) rmSync(join(personas, name), { recursive: true, force: true })
}

export interface PersonaMade {
  readonly event: 'persona made'
  readonly name: string
}

/** The persona of this name; creates an unknown one, unless the name is close to that of another. */
export async function findOrMake(
  personas: string,
  name: string,
  { tell }: Pick<Call<PersonaMade>, 'tell'>,
): Promise<Persona> {
  const found = await readPersona(personas, name)
  if (found) return found
  if (closest(name, personasIn(personas)) !== undefined) throw unknownPersona(personas, name)
  checkName(name)
  makePersona(personas, name)
  tell?.({ event: 'persona made', name })
  return (await readPersona(personas, name))!
}
