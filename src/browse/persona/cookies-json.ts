import { UsageError } from '../../base/errors.ts'
import { CONTROL, type Cookie, sameSiteOf } from './cookie.ts'
import { jsonIn, type OriginStorage, originsIn } from './storage.ts'

/**
 * Parses a JSON export of cookies: a list as written by browser extensions (EditThisCookie, Cookie-Editor) and
 * puppeteer, or an object with `cookies` (and `origins`, as in Playwright's storage state). Throws UsageError that
 * names the file and the entry, but no value.
 */
export function parseCookiesJson(text: string, file: string): { cookies: Cookie[]; origins: OriginStorage[] } {
  const parsed = jsonIn(text, file)
  const list = Array.isArray(parsed) ? parsed : (parsed as { cookies?: unknown } | null)?.cookies
  if (!Array.isArray(list))
    throw new UsageError(
      `${file} has no cookies`,
      'JSON is a list of cookies, or an object with such a list as "cookies"',
    )
  const cookies = list.map((entry: unknown, at) => cookieOf(entry, `${file}, cookie ${at + 1}`))
  return { cookies, origins: originsIn(parsed) }
}

function cookieOf(entry: unknown, where: string): Cookie {
  const fields = typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>) : {}
  const { name, value } = fields
  const host = [fields['domain'], fields['host'], hostIn(fields['url'])].find((text) => typeof text === 'string')
  if (typeof name !== 'string' || typeof value !== 'string' || !host)
    throw new UsageError(`${where}: it lacks a name, a value or a domain`)
  const { hostOnly, path, sameSite } = fields
  if (CONTROL.test(`${name}${value}${host}${path}`))
    throw new UsageError(`${where}: a cookie must not contain control characters`)
  return {
    ...{ name, value, domain: host.replace(/^\./, '').toLowerCase() },
    hostOnly: typeof hostOnly === 'boolean' ? hostOnly : !host.startsWith('.'),
    path: typeof path === 'string' && path.startsWith('/') ? path : '/',
    secure: (fields['secure'] ?? fields['isSecure']) === true,
    httpOnly: (fields['httpOnly'] ?? fields['isHttpOnly']) === true,
    expires: secondsOf(fields['expirationDate'] ?? fields['expires'] ?? fields['expiry']),
    sameSite: typeof sameSite === 'string' ? sameSiteOf(sameSite) : undefined,
  }
}

/** A number above this many seconds since 1970 (the year 5138) means milliseconds. */
const SECONDS_AT_MOST = 1e11

/** An expiry time: seconds, milliseconds or a date; undefined for a session cookie. */
function secondsOf(given: unknown): number | undefined {
  const number = typeof given === 'string' && /[a-z-]/i.test(given.slice(1)) ? Date.parse(given) : Number(given ?? 0)
  const seconds = number > SECONDS_AT_MOST ? number / 1000 : number
  return seconds > 0 ? Math.floor(seconds) : undefined
}

const hostIn = (url: unknown) => (typeof url === 'string' ? URL.parse(url)?.hostname : undefined)
