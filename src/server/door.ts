import type { IncomingMessage } from 'node:http'
import type { Names } from './names.ts'

/** A request that is refused, by its address alone. */
export interface Refused {
  readonly status: number
  readonly text: string
  readonly location?: string
}

/**
 * Checks a request before anything of it is used: a page whose name was made to lead here (DNS rebinding) sends the
 * `Host` of that name. Undefined: it may pass.
 */
export function refusedAtDoor(request: IncomingMessage, names: Names): Refused | undefined {
  const hosts = request.rawHeaders.filter((_text, at) => at % 2 === 0 && /^host$/i.test(request.rawHeaders[at]!))
  const { url = '', headers } = request
  if (hosts.length !== 1) return { status: 400, text: 'a request must have one Host header' }
  if (!url.startsWith('/')) return { status: 400, text: 'a request must name a path of this server' }
  // No row has one, and no database accepts one.
  if (/%00/.test(url)) return { status: 400, text: 'an address must not contain %00' }
  const host = headers.host?.toLowerCase() ?? ''
  if (host === names.host) return undefined
  if (!names.others.includes(host)) return { status: 421, text: 'this is not the name of an archive' }
  if (request.method !== 'GET' && request.method !== 'HEAD') return { status: 421, text: `use ${names.origin}` }
  // Never `//host`: a browser would take that for another host.
  return { status: 307, text: `the archive is at ${names.origin}`, location: names.origin + url.replace(/^\/+/, '/') }
}

/**
 * Whether this request may change something. Browsers tell where it comes from; a page of another origin, even a copy,
 * can send one with our cookie.
 */
export function isOurOwn(headers: Headers, { origin }: Pick<Names, 'origin'>): boolean {
  const site = headers.get('sec-fetch-site')
  return site === null ? headers.get('origin') === origin : site === 'same-origin'
}
