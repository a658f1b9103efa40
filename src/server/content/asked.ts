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
  /** The frame, in this page, whose document it is: the place of its tag, and of those in that (`frames.ts`). */
  readonly frames: readonly number[]
}

/** What a frame in a copy has at the end of its query, with the places of frames where its document is in a page. */
export const INNER = 'in-a-frame'

const END = new RegExp(`(?:^|&)${INNER}(?:=(\\d{1,9}(?:\\.\\d{1,9}){0,3}))?$`)

/** Reads host and path of a request. Undefined: it names no capture. */
export function asked({ url = '', rawHeaders }: IncomingMessage, place: ContentPlace): Asked | undefined {
  const hosts = rawHeaders.filter((_text, at) => at % 2 === 1 && /^host$/i.test(rawHeaders[at - 1]!))
  const [host] = hosts
  if (host === undefined || hosts.length !== 1 || !url.startsWith('/')) return undefined
  const { protocol, isWildcard } = place
  const at = url.indexOf('?')
  const whole = url.slice(1, at === -1 ? undefined : at)
  const asked = at === -1 ? undefined : url.slice(at + 1)
  const inner = END.exec(asked ?? '')
  const query = (inner ? asked?.slice(0, inner.index) : asked) || undefined
  const how = { query, isInner: inner !== null, frames: inner?.[1]?.split('.').map(Number) ?? [] }
  if (isWildcard) {
    const [, label = ''] = /^([^.]+)\./.exec(host.toLowerCase()) ?? []
    if (host.toLowerCase() !== `${label}.${place.host}`) return undefined
    return { label, base: `${protocol}//${label}.${place.host}`, path: whole, ...how }
  }
  if (host.toLowerCase() !== place.host) return undefined
  const [label = '', ...steps] = whole.split('/')
  return { label, base: `${protocol}//${place.host}/${label}`, path: steps.join('/'), ...how }
}
