import type { IncomingMessage } from 'node:http'
import type { ContentPlace } from './addresses.ts'

/** What a request asks for, before it is known whether that exists. */
export interface Asked {
  readonly label: string
  /** The place of the capture's files for this label: its origin, or the beginning of its paths. */
  readonly base: string
  /** As sent, without the leading slash. */
  readonly path: string
  /** The part after the question mark; undefined: there is none. */
  readonly query: string | undefined
  /** Requested by a frame of a copy, whose address was marked. */
  readonly isInner: boolean
  /**
   * The frame in this page whose document it is: the position of its tag, then those of tags nested in it
   * (`frames.ts`).
   */
  readonly frames: readonly number[]
}

/**
 * The mark at the end of the query of a frame in a copy, with the positions of frames if its document is in the page.
 */
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
