import type { Received } from './received.ts'

/** One step of a redirect chain. */
export interface Hop {
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/** The answer at the end of the chain; its body has not been read yet (body.ts). */
export interface Answer extends Hop {
  readonly statusText: string
  readonly redirects: readonly Hop[]
  /** The request headers that may be kept: no cookies, and none of the persona's own. */
  readonly requestHeaders: Readonly<Record<string, string>>
  /** Whether a persona's cookies or headers were sent on the way to it: it may be meant for them alone. */
  readonly hasCredentials: boolean
  readonly body: Received
  /** The server reports that the earlier copy is still valid; this is that copy, with the server's present headers. */
  readonly notModified?: NotModified
}

export interface NotModified {
  readonly status: number
  /** When the server last sent the body, ISO 8601. */
  readonly since: string
  /** The headers of this answer; the earlier ones hold, too. */
  readonly headers: Readonly<Record<string, string>>
}

/** An earlier copy of the page, which the server may report as still valid. */
export interface Earlier {
  /** The URL after redirects. */
  readonly finalUrl: string
  /** The headers of the answer, without those about how its body was sent. */
  readonly headers: Readonly<Record<string, string>>
  /** The headers that make the request conditional (RFC 9110, 13.1). */
  readonly conditions: Readonly<Record<string, string>>
  /** The decoded body. */
  readonly file: string
  /** When the server last sent it. */
  readonly since: string
}

/** The request for the page, on behalf of all hooks that share a visit. */
export interface PageRequest {
  readonly began: number
  readonly answer: Promise<Answer>
  here: { readonly answer: Answer; readonly afterMs: number } | undefined
}

/** `HTTP 404 Not Found`, as people write it. */
export function statusLine(answer: { readonly status: number; readonly statusText: string }): string {
  return `HTTP ${answer.status} ${answer.statusText}`.trim()
}
