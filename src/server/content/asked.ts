import type { IncomingMessage } from 'node:http'
import type { ContentPlace } from './addresses.ts'

/** What a request asks for, before anybody has looked whether it is there. */
export interface Asked {
  readonly label: string
  /** Where the files of the capture are, for this label: its origin, or the beginning of its paths. */
  readonly base: string
  /** As it was sent, without the slash at its beginning. */
  readonly path: string
  /** Behind the question mark; undefined: there is none. */
  readonly query: string | undefined
  /** In a frame of a copy, which has made the address so. */
  readonly isInner: boolean
}

/** What a frame in a copy has at the end of its query. */
export const INNER = 'in-a-frame'

const END = new RegExp(`(?:^|&)${INNER}$`)

/** Reads host and path of a request. Undefined: it names no capture. */
export function asked({ url = '', rawHeaders }: IncomingMessage, place: ContentPlace): Asked | undefined {
  const hosts = rawHeaders.filter((_text, at) => at % 2 === 1 && /^host$/i.test(rawHeaders[at - 1]!))
  const [host] = hosts
  if (host === undefined || hosts.length !== 1 || !url.startsWith('/')) return undefined
  const { protocol, isWildcard } = place
  const at = url.indexOf('?')
  const whole = url.slice(1, at === -1 ? undefined : at)
  const asked = at === -1 ? undefined : url.slice(at + 1)
  const query = asked?.replace(END, '') || undefined
  const isInner = query !== asked && END.test(asked ?? '')
  if (isWildcard) {
    const [, label = ''] = /^([^.]+)\./.exec(host.toLowerCase()) ?? []
    if (host.toLowerCase() !== `${label}.${place.host}`) return undefined
    return { label, base: `${protocol}//${label}.${place.host}`, path: whole, query, isInner }
  }
  if (host.toLowerCase() !== place.host) return undefined
  const [label = '', ...steps] = whole.split('/')
  return { label, base: `${protocol}//${place.host}/${label}`, path: steps.join('/'), query, isInner }
}
