import { isSecretHeader } from '../persona/credentials.ts'
import type { Exchange } from './writer.ts'

/** Request headers that say how a page was requested, and nothing about the visitor. */
const OPEN = new Set(['accept', 'accept-encoding', 'accept-language', 'content-type', 'host', 'range', 'user-agent'])

/**
 * Reduces an exchange of a visitor with logins to the parts that may be kept: scripts put tokens into any header and
 * body, and servers into answers.
 */
export function withoutLogins(exchange: Exchange): Exchange {
  return {
    ...exchange,
    requestHeaders: exchange.requestHeaders.filter(([name]) => OPEN.has(name.toLowerCase())),
    requestBody: undefined,
    headers: exchange.headers.filter(([name]) => !isSecretHeader(name)),
  }
}
