import type { IncomingMessage } from 'node:http'
import type { Names } from './names.ts'

/** A request that goes no further: by its address alone. */
export interface Refused {
  readonly status: number
  readonly text: string
  readonly location?: string
}

/**
 * Judges a request before anything of it is used: a page whose name was made to lead here (DNS rebinding) asks with
 * the `Host` of that name. Undefined: it may come in.
 */
export function refusedAtDoor(request: IncomingMessage, names: Names): Refused | undefined {
  const hosts = request.rawHeaders.filter((_text, at) => at % 2 === 0 && /^host$/i.test(request.rawHeaders[at]!))
  const { url = '', headers } = request
  if (hosts.length !== 1) return { status: 400, text: 'a request has one Host header' }
  if (!url.startsWith('/')) return { status: 400, text: 'a request names a path of this server' }
  // No row has one, and no database takes one.
  if (/%00/.test(url)) return { status: 400, text: 'an address has no %00' }
  const host = headers.host?.toLowerCase() ?? ''
  if (host === names.host) return undefined
  if (!names.others.includes(host)) return { status: 421, text: 'this is not the name of an archive' }
  if (request.method !== 'GET' && request.method !== 'HEAD') return { status: 421, text: `ask ${names.origin}` }
  // Never `//host`: a browser would take that for another host.
  return { status: 307, text: `the archive is at ${names.origin}`, location: names.origin + url.replace(/^\/+/, '/') }
}

/**
 * May this request change something? Browsers say where it comes from; a page of another origin, of a copy, too, may
 * send one with our cookie.
 */
export function isOurOwn(headers: Headers, { origin }: Pick<Names, 'origin'>): boolean {
  const site = headers.get('sec-fetch-site')
  return site === null ? headers.get('origin') === origin : site === 'same-origin'
}
