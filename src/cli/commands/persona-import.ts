import { readFileSync } from 'node:fs'
import { oneLine } from '../../base/clean.ts'
import { codeOf, messageOf, UsageError } from '../../base/errors.ts'
import { isExpired, merged } from '../../base/persona/cookie.ts'
import { parseCookiesJson } from '../../base/persona/cookies-json.ts'
import { parseCookiesTxt } from '../../base/persona/cookies-txt.ts'
import { many } from '../format.ts'
import { findOrMake, personasOf } from '../persona/find.ts'
import { saveLogins } from '../persona/save.ts'
import type { Asked } from '../settings.ts'
import { terminal } from '../terminal.ts'

/** `persona import NAME FILE`: takes cookies over; those that are there already are replaced. */
export async function personaImport(asked: Asked, name: string, file: string): Promise<void> {
  const { personas } = personasOf(asked)
  const text = textOf(file)
  const shown = file === '-' ? 'stdin' : file
  const isJson = /^\s*[[{]/.test(text)
  const { cookies, origins } = isJson
    ? parseCookiesJson(text, shown)
    : { cookies: parseCookiesTxt(text, shown), origins: [] }
  if (cookies.length === 0 && origins.length === 0)
    throw new UsageError(`${shown} has no cookies`, 'it takes cookies.txt, or JSON as browser extensions export it')
  const persona = await findOrMake(personas, name)
  saveLogins(persona, merged(persona.cookies, cookies), origins)
  const expired = cookies.filter((cookie) => isExpired(cookie))
  const hosts = [...new Set(cookies.map(({ domain }) => domain))]
  const more = hosts.length > 3 ? ` and ${hosts.length - 3} more` : ''
  const named = oneLine(hosts.slice(0, 3).join(', '))
  terminal.say(`${name}: took over ${many(cookies.length, 'cookie')} for ${named}${more}`)
  if (expired.length > 0)
    terminal.say(
      `${many(expired.length, 'cookie')} expired already: ${oneLine(names(expired))}; log in there and export anew`,
    )
}

const names = (cookies: readonly { readonly name: string; readonly domain: string }[]) =>
  cookies
    .slice(0, 3)
    .map(({ name, domain }) => `${name} (${domain})`)
    .join(', ') + (cookies.length > 3 ? ', ...' : '')

function textOf(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw new UsageError(`there is no file ${file}`)
    throw new UsageError(`cannot read ${file}: ${messageOf(error)}`)
  }
}
