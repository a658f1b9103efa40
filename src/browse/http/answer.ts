import type { Received } from './received.ts'

/** One step of a redirect chain. */
export interface Hop {
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/** The answer at the end of the chain; its body is still to be read (body.ts). */
export interface Answer extends Hop {
  readonly statusText: string
  readonly redirects: readonly Hop[]
  /** What may be kept of them: no cookie, and none of the persona's own. */
  readonly requestHeaders: Readonly<Record<string, string>>
  /** Cookies or headers of somebody went along on the way to it: it may be meant for them alone. */
  readonly hasCredentials: boolean
  readonly body: Received
  /** The server says that the earlier copy is still the same; this is that copy, and the server's headers of now. */
  readonly notModified?: NotModified
}

export interface NotModified {
  readonly status: number
  /** When the server last sent it, ISO 8601. */
  readonly since: string
  /** What came with the answer; those of before hold, too. */
  readonly headers: Readonly<Record<string, string>>
}

/** An earlier copy of the page that the server may say is still the same. */
export interface Earlier {
  /** What was asked for in the end, after redirects. */
  readonly finalUrl: string
  /** The headers of the answer, without those about how its body was sent. */
  readonly headers: Readonly<Record<string, string>>
  /** The headers by which the server is asked for something else only (RFC 9110, 13.1). */
  readonly conditions: Readonly<Record<string, string>>
  /** Its decoded body. */
  readonly file: string
  /** When the server last sent it. */
  readonly since: string
}

/** The request for the page, on behalf of all who share a visit. */
export interface PageRequest {
  readonly began: number
  readonly answer: Promise<Answer>
  here: { readonly answer: Answer; readonly afterMs: number } | undefined
}

/** `HTTP 404 Not Found`, as people write it. */
export function statusLine(answer: { readonly status: number; readonly statusText: string }): string {
  return `HTTP ${answer.status} ${answer.statusText}`.trim()
}
