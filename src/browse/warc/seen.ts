import type { IncomingMessage } from 'node:http'
import { parseContentType } from '../http/content-type.ts'
import { type Headers, headerIn } from './http-message.ts'

/** Headers by which servers tell a page's own requests from others. */
const DECISIVE = ['accept', 'origin', 'referer', 'cookie']

/** How the browser asked for a URL and what it got, for a request by ourselves that is to get the same. */
export interface Seen {
  /** What it sent; the cookies are for that one request, and never stored. */
  readonly headers: Readonly<Record<string, string>>
  readonly status: number
  readonly mime: string
}

/** @param areAll whether these are all headers that it sent: without a cookie among them, none is to be sent */
export function seen(
  sent: Headers,
  areAll: boolean,
  { status, headers }: { readonly status: number; readonly headers: Headers },
): Seen {
  const decisive = DECISIVE.flatMap((name) => {
    const value = headerIn(sent, name)
    // Of other characters the browser does not tell how it has encoded them.
    return value !== undefined && /^[ -~]*$/.test(value) ? [[name, value] as const] : []
  })
  const none = areAll && headerIn(sent, 'cookie') === undefined ? { cookie: '' } : {}
  return {
    headers: { ...none, ...Object.fromEntries(decisive) },
    status,
    mime: mimeIn(headerIn(headers, 'content-type')),
  }
}

/** Why an answer is not what the browser got: no access, an error, or a page that says so. */
export function differenceOf(before: Seen, { statusCode = 0, headers }: IncomingMessage): string | undefined {
  const hundreds = (status: number) => Math.floor(status / 100)
  if (hundreds(statusCode) !== hundreds(before.status)) return `HTTP ${statusCode} when it was requested again`
  const isPage = mimeIn(headers['content-type']) === PAGE && before.mime !== PAGE
  return isPage ? 'a page came when it was requested again' : undefined
}

const PAGE = 'text/html'
const mimeIn = (type: string | undefined) => parseContentType(type).mime
