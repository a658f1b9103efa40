/** A cookie of a persona. */
export interface Cookie {
  readonly name: string
  readonly value: string
  /** A host, without a leading dot. */
  readonly domain: string
  /** Only for that host; otherwise also for its subdomains. */
  readonly hostOnly: boolean
  readonly path: string
  readonly secure: boolean
  readonly httpOnly: boolean
  /** Seconds since 1970; undefined: a session cookie, which lasts until it is replaced. */
  readonly expires: number | undefined
  /** Undefined: unknown; browsers then assume `Lax`. */
  readonly sameSite: 'Strict' | 'Lax' | 'None' | undefined
}

/** Characters that no field of a cookie may contain: no header could carry them, and some end a line of cookies.txt. */
export const CONTROL = /\p{Cc}/u

/** Whether it has expired. */
export function isExpired({ expires }: Cookie, now = Date.now()): boolean {
  return expires !== undefined && expires * 1000 <= now
}

/** Whether its domain allows it for this host; path and time are not checked. */
export function isForHost({ domain, hostOnly }: Cookie, host: string): boolean {
  return host === domain || (!hostOnly && host.endsWith(`.${domain}`))
}

/** The cookies of both lists; if name, domain and path are the same, that of the second. */
export function merged(before: readonly Cookie[], after: readonly Cookie[]): Cookie[] {
  const keyed = [...before, ...after].map(
    (cookie) => [`${cookie.domain} ${cookie.path} ${cookie.name}`, cookie] as const,
  )
  return [...new Map(keyed).values()]
}

const SAME_SITE: ReadonlyMap<string, Cookie['sameSite']> = new Map([
  ['strict', 'Strict'],
  ['lax', 'Lax'],
  ['none', 'None'],
  ['no_restriction', 'None'],
])

/** SameSite in any spelling; undefined for anything else. */
export function sameSiteOf(text: string): Cookie['sameSite'] {
  return SAME_SITE.get(text.trim().toLowerCase())
}
