import { UsageError } from '../../base/errors.ts'
import { type Cookie, isExpired, merged } from '../../browse/persona/cookie.ts'
import { parseCookiesJson } from '../../browse/persona/cookies-json.ts'
import { parseCookiesTxt } from '../../browse/persona/cookies-txt.ts'
import type { Call } from '../call.ts'
import { findOrMake, type PersonaMade } from './change.ts'
import { saveLogins } from './save.ts'

export interface ImportInput {
  readonly name: string
  /** cookies.txt, or JSON as browser extensions export it. */
  readonly text: string
  /** The source, for messages. */
  readonly from: string
}

export interface Imported {
  readonly cookies: readonly Cookie[]
  /** Those of them that have expired. */
  readonly expired: readonly Cookie[]
}

/**
 * Imports cookies of a browser, which replace existing ones. Creates the persona if there is none. Throws UsageError
 * for a text without cookies.
 */
export async function importCookies(
  personas: string,
  { name, text, from }: ImportInput,
  call: Pick<Call<PersonaMade>, 'tell'>,
): Promise<Imported> {
  const isJson = /^\s*[[{]/.test(text)
  const { cookies, origins } = isJson
    ? parseCookiesJson(text, from)
    : { cookies: parseCookiesTxt(text, from), origins: [] }
  if (cookies.length === 0 && origins.length === 0)
    throw new UsageError(`${from} has no cookies`, 'it takes cookies.txt, or JSON as browser extensions export it')
  const persona = await findOrMake(personas, name, call)
  saveLogins(persona, merged(persona.cookies, cookies), origins)
  return { cookies, expired: cookies.filter((cookie) => isExpired(cookie)) }
}
