import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { explain } from './network-errors.ts'

const MAX_HEADER_BYTES = 262_144

export interface RequestOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly verifyTls: boolean
}

/**
 * One GET, no redirects. Resolves when the headers are there; the body is read from, or destroyed by, whoever called.
 * On node:http and not on fetch: a third of the CPU on its first use, no list of blocked ports, and certificates can be ignored on demand.
 * Each request has its own connection: a pool would be state that one run leaves to the next. Errors are AppErrors.
 */
export async function request(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  const { request: send } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  return new Promise((resolve, reject) => {
    const settings = {
      agent: false as const,
      headers: options.headers,
      signal: options.signal,
      maxHeaderSize: MAX_HEADER_BYTES,
      rejectUnauthorized: options.verifyTls,
    }
    try {
      send(url, settings, (answer) => {
        // Whoever reads the body sees its errors; nobody hears them once it is destroyed.
        answer.on('error', () => {})
        resolve(answer)
      })
        .on('error', (error) => reject(explain(error, url)))
        .end()
    } catch (error) {
      reject(explain(error, url))
    }
  })
}

/** Headers by lower-case name; repeated ones are joined as browsers join them (`, `; set-cookie by line feeds). */
export function headersOf(answer: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let i = 0; i + 1 < answer.rawHeaders.length; i += 2) {
    const name = answer.rawHeaders[i]!.toLowerCase()
    const value = asUtf8(answer.rawHeaders[i + 1]!)
    const before = Object.hasOwn(headers, name) ? headers[name] : undefined
    // defineProperty semantics: a header named __proto__ is only a header.
    Object.defineProperty(headers, name, {
      value: before === undefined ? value : `${before}${name === 'set-cookie' ? '\n' : ', '}${value}`,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return headers
}

/** Node reads header bytes as Latin-1; file names and locations out there are UTF-8. */
function asUtf8(value: string): string {
  if (!/[\x80-\xff]/.test(value)) return value
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : value
}
