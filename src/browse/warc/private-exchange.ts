import { isSecretHeader } from '../persona/credentials.ts'
import type { Exchange } from './writer.ts'

/** Headers of requests that say how a page was asked for, and nothing of who asked. */
const OPEN = new Set(['accept', 'accept-encoding', 'accept-language', 'content-type', 'host', 'range', 'user-agent'])

/**
 * An exchange as it may be kept of somebody who has logins: scripts put tokens of theirs into any header and body, and
 * servers into answers.
 */
export function withoutLogins(exchange: Exchange): Exchange {
  return {
    ...exchange,
    requestHeaders: exchange.requestHeaders.filter(([name]) => OPEN.has(name.toLowerCase())),
    requestBody: undefined,
    headers: exchange.headers.filter(([name]) => !isSecretHeader(name)),
  }
}
