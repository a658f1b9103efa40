import type { Names } from '../names.ts'
import { isToken } from './tokens.ts'

/** Other hosts may have set this many of the same name; each is tried. */
const MOST = 8

/** The values of our cookie in a `Cookie` header that may be sessions. */
export function tokensIn(header: string | undefined, { cookie }: Pick<Names, 'cookie'>): string[] {
  if (header === undefined) return []
  const values = header.split(';').flatMap((part) => {
    const [name, value] = part.trim().split('=', 2)
    return name === cookie && value && isToken(value) ? [value] : []
  })
  return values.slice(0, MOST)
}

/** A `Set-Cookie` header. Null removes the cookie. */
export function setCookie({ cookie, isSecure }: Names, token: string | null): string {
  const life = token === null ? 'Max-Age=0' : `Max-Age=${30 * 24 * 3_600}`
  return `${cookie}=${token ?? ''}; Path=/; HttpOnly; SameSite=Strict; ${life}${isSecure ? '; Secure' : ''}`
}
