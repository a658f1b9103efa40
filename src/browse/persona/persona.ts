import { statSync } from 'node:fs'
import { join } from 'node:path'
import { configText, textsOf, tomlIn } from '../../base/config-file.ts'
import { codeOf, messageOf, UsageError } from '../../base/errors.ts'
import { personaName } from '../../base/kinds.ts'
import type { Cookie } from './cookie.ts'
import { parseCookiesTxt } from './cookies-txt.ts'
import { type PersonaFiles, personaFiles } from './files.ts'
import { type HostHeaders, headersIn } from './headers.ts'
import { jsonIn, type OriginStorage, originsIn } from './storage.ts'

/** An identity that visits pages: settings, headers and logins for crawls. Only its owner may read its files. */
export interface Persona {
  readonly name: string
  readonly files: PersonaFiles
  /** As written. */
  readonly settings: Readonly<Record<string, string>>
  readonly headers: HostHeaders
  readonly cookies: readonly Cookie[]
  readonly origins: readonly OriginStorage[]
}

/** Reads a persona from its files; undefined: there is none. Throws UsageError that names the error in a file. */
export async function readPersona(personas: string, name: string): Promise<Persona | undefined> {
  const files = personaFiles(join(personas, name))
  if (personaName.read(name) === undefined || !isFolder(files.folder)) return undefined
  return {
    name,
    files,
    ...(await settingsIn(configText(files.settings) ?? '', files.settings)),
    cookies: cookiesIn(files.cookies),
    origins: originsIn(jsonIn(configText(files.storage) ?? '{}', files.storage)),
  }
}

/** Whether it is a folder; a path too long, or a link to itself, is none. Throws when that cannot be determined. */
function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  } catch (error) {
    if (['ENAMETOOLONG', 'ELOOP'].includes(codeOf(error) ?? '')) return false
    throw error
  }
}

/** Parses the settings and headers in a persona.toml. Throws UsageError. */
export async function settingsIn(text: string, file: string): Promise<Pick<Persona, 'settings' | 'headers'>> {
  const { headers, ...settings } = await tomlIn(text, file).catch((error: unknown) => {
    // The parser quotes the line, which may be secret.
    const [, line] = /\((\d+), \d+\)/.exec(messageOf(error)) ?? []
    throw new UsageError(`${file} is not valid TOML${line === undefined ? '' : ` (line ${line})`}`, 'fix that line')
  })
  return { settings: textsOf(settings), headers: headersIn(headers, file) }
}

/** Reads the cookies in a file; none when it does not exist. Throws UsageError. */
export function cookiesIn(file: string): Cookie[] {
  return parseCookiesTxt(configText(file) ?? '', file)
}
