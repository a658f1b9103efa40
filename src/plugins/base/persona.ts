import { statSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { DEFAULT_PERSONA } from '../../base/persona/files.ts'
import type { Persona } from '../../base/persona/persona.ts'
import type { HookContext } from './contract.ts'
import { text } from './settings.ts'

/** With what pages are asked for. None of it may reach a file of the archive, a log, or the arguments of a program. */
export type Credentials = Pick<Persona, 'cookies' | 'headers' | 'origins'>

/** May a header of an answer bring new credentials, by its name? What asks for some (WWW-Authenticate) does not. */
export const isSecretHeader = (name: string): boolean =>
  /^set-cookie2?$|auth(?!enticate$)|token|secret|session|csrf|xsrf|api-?key|jwt/i.test(name)

const NONE: Credentials = { cookies: [], headers: new Map(), origins: [] }

/**
 * The cookies, headers and storage of the persona that visits the page (ACTIVE_PERSONA in PERSONAS_DIR), with the
 * cookies of COOKIES_FILE. Throws AppError for one that is not there, or cannot be read: a page as nobody in
 * particular sees it is not what was asked for.
 */
export function credentialsFor({ env, visit }: Pick<HookContext, 'env' | 'visit'>): Promise<Credentials> {
  return visit ? visit.once('persona', () => read(env)) : read(env)
}

async function read(env: HookContext['env']): Promise<Credentials> {
  const [personas, name] = [text(env, 'PERSONAS_DIR'), text(env, 'ACTIVE_PERSONA') ?? DEFAULT_PERSONA]
  const file = text(env, 'COOKIES_FILE')
  if (file !== undefined && !statSync(file, { throwIfNoEntry: false })) throw new AppError(`no COOKIES_FILE at ${file}`)
  const isThere = personas !== undefined && statSync(join(personas, name), { throwIfNoEntry: false })
  if (personas !== undefined && !isThere && name !== DEFAULT_PERSONA)
    throw new AppError(`there is no persona ${name} here`)
  if (!isThere && file === undefined) return NONE
  const { cookiesIn, readPersona } = await import('../../base/persona/persona.ts')
  const persona = isThere ? await readPersona(personas, name) : undefined
  return { ...(persona ?? NONE), ...(file !== undefined && { cookies: cookiesIn(file) }) }
}

/** Shorter ones are words that any text may have. */
const SHORTEST_SECRET = 8

/** Takes all values of cookies, headers and storage from a text that a page has made with them. */
export function redaction({ cookies, headers, origins }: Credentials): (text: string) => string {
  const stored = origins.flatMap(({ localStorage }) =>
    localStorage.flatMap(({ value }) => [value, ...stringsIn(value)]),
  )
  const sent = [...headers.values()]
    .flatMap(Object.values<string>)
    .flatMap((value) => [value, value.split(' ').at(-1)!])
  const all = [...cookies.map(({ value }) => value), ...sent, ...stored].filter(
    (text) => text.length >= SHORTEST_SECRET,
  )
  if (all.length === 0) return (text) => text
  const longestFirst = [...new Set(all)].sort((a, b) => b.length - a.length)
  const secret = new RegExp(longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g')
  return (text) => text.replace(secret, '***')
}

/** The texts in a value that is JSON. */
function stringsIn(value: string): string[] {
  const found: string[] = []
  try {
    JSON.parse(value, (_, inner: unknown) => {
      if (typeof inner === 'string') found.push(inner)
      return inner
    })
  } catch {} // It is plain text.
  return found
}
