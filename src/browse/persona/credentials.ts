import type { Persona } from './persona.ts'

/**
 * The credentials for requests of pages. None of them may reach a file of the archive, a log, or the arguments of a
 * program.
 */
export type Credentials = Pick<Persona, 'cookies' | 'headers' | 'origins'>

/**
 * Whether a header of an answer may, by its name, contain new credentials. Requests for them (WWW-Authenticate) do not.
 */
export const isSecretHeader = (name: string): boolean =>
  /^set-cookie2?$|auth(?!enticate$)|token|secret|session|csrf|xsrf|api-?key|jwt/i.test(name)

/** Whether they include anything that may give others access, or that a page may show to nobody else. */
export const hasLogins = ({ cookies, headers, origins }: Credentials): boolean =>
  cookies.length + headers.size + origins.length > 0

/** Shorter values are words that any text may contain. */
const SHORTEST_SECRET = 8

/** Removes all values of cookies, headers and storage from a text that a page has made with them. */
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

/** The strings in a JSON value. */
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
