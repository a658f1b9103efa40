import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SETTINGS } from '../../base/config.ts'
import { personaName } from '../../base/kinds.ts'

/** The persona of crawls that name none. It need not exist. */
export const DEFAULT_PERSONA = SETTINGS.ACTIVE_PERSONA.standard

/** The paths of a persona, by ArchiveBox's names. */
export type PersonaFiles = ReturnType<typeof personaFiles>

/** The file with a persona's settings and headers. */
export const PERSONA_FILE = 'persona.toml'

export function personaFiles(folder: string) {
  return {
    folder,
    settings: join(folder, PERSONA_FILE),
    cookies: join(folder, 'cookies.txt'),
    storage: join(folder, 'auth.json'),
    profile: join(folder, 'chrome_profile'),
    downloads: join(folder, 'chrome_downloads'),
  } as const
}

/** The names of all personas in `personas`, sorted. */
export function personasIn(personas: string): string[] {
  const entries = statSync(personas, { throwIfNoEntry: false }) ? readdirSync(personas, { withFileTypes: true }) : []
  return entries.flatMap((each) => (each.isDirectory() && personaName.read(each.name) ? each.name : [])).sort()
}
