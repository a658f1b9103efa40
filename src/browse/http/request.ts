import { isUtf8 } from 'node:buffer'
import type { Agent, IncomingMessage } from 'node:http'
import { AppError } from '../../base/errors.ts'
import type { AddressFilter } from '../network/address-filter.ts'
import { explain, refusesHttp1 } from './network-errors.ts'

const MAX_HEADER_BYTES = 262_144

export interface RequestOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly verifyTls: boolean
  /** Which hosts may be connected to; undefined: all. */
  readonly filter?: AddressFilter | undefined
  /** Called with the answer before its body is read. */
  readonly onAnswer?: ((answer: IncomingMessage) => void) | undefined
}

/** An unread body up to this size is read to its end, which costs less than a new connection. */
const SHORT_BYTES = 16 * 1024

/** Idle connections are closed after this time; most servers wait a little longer. */
const IDLE_MS = 4_000

/**
 * Returns the pool of connections, which reuses idle ones. `import` would load every export of node:http, one of which
 * loads all of fetch: 30 ms of CPU and 14 MB.
 */
function connections(protocol: string, filter: AddressFilter | undefined) {
  const { request: send, Agent } = process.getBuiltinModule(protocol === 'https:' ? 'node:https' : 'node:http')
  const pool = filter ? `${protocol} ${filter.id}` : protocol // A filter must have checked its connections.
  const agent = agents.get(pool) ?? new Agent({ keepAlive: true, maxFreeSockets: 2, timeout: IDLE_MS })
  agents.set(pool, agent)
  return { send, agent }
}
const agents = new Map<string, Agent>()

/** Hosts that refuse to speak HTTP/1.1. */
const http2Only = new Set<string>()
export const speaksOnlyHttp2 = (host: string): boolean => http2Only.has(host)

/**
 * Sends one GET, and follows no redirects. Resolves when the headers have arrived; the caller reads or destroys the
 * body. Uses node:http rather than fetch: a third of the CPU on first use, no list of blocked ports, and certificates
 * can be ignored on demand. Uses HTTP/2 for a server that speaks nothing else. Throws AppErrors.
 */
export async function request(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  const { filter } = options
  const refusal = filter?.refusalOf(url)
  if (refusal !== undefined) throw new AppError(refusal)
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  const { send, agent } = connections(url.protocol, filter)
  const shared = {
    headers: options.headers,
    signal: options.signal,
    rejectUnauthorized: options.verifyTls,
    ...(filter && { lookup: filter.lookup(port) }),
  }
  const attempt = (ownConnection: boolean) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const settings = {
        ...shared,
        agent: ownConnection ? (false as const) : agent,
        maxHeaderSize: MAX_HEADER_BYTES,
        // Without this, a server that only speaks HTTP/2 would start to do so.
        ALPNProtocols: ['http/1.1'],
      }
      let message: IncomingMessage | undefined
      const sent = send(url, settings, (answer) => {
        message = answer
        // The reader of the body sees its errors; after it is destroyed nobody listens.
        answer.on('error', () => {})
        options.onAnswer?.(answer)
        resolve(answer)
      })
      sent
        .on('error', (error) => {
          // The reader should get this error, and not only learn that the connection is gone.
          if (message) return void message.destroy(error)
          // The server closed the idle connection at the same moment: this request is not to blame.
          const wasClosed = sent.reusedSocket && !ownConnection && !options.signal.aborted
          if (wasClosed) attempt(true).then(resolve, reject)
          else reject(error)
        })
        .end()
    })
  const attemptHttp2 = async () => {
    const { requestHttp2 } = await import('./request-http2.ts')
    const answer = await requestHttp2(url, shared)
    answer.on('error', () => {})
    options.onAnswer?.(answer)
    return answer
  }
  try {
    if (speaksOnlyHttp2(url.host)) return await attemptHttp2()
    return await attempt(false).catch((error: unknown) => {
      if (!refusesHttp1(error)) throw error
      http2Only.add(url.host)
      return attemptHttp2()
    })
  } catch (error) {
    throw explain(error, url)
  }
}

/** Drops an unread body; if it is short, so that the next request can use the connection. */
export function drop(body: IncomingMessage): void {
  if (!(Number(body.headers['content-length']) <= SHORT_BYTES)) body.destroy()
  else body.setTimeout(IDLE_MS, () => body.destroy()).resume()
}

/** Headers by lower-case name; repeated ones are joined as browsers do (`, `; set-cookie by line feeds). */
export function headersOf(answer: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let i = 0; i + 1 < answer.rawHeaders.length; i += 2) {
    const name = answer.rawHeaders[i]!.toLowerCase()
    const value = asUtf8(answer.rawHeaders[i + 1]!)
    const before = Object.hasOwn(headers, name) ? headers[name] : undefined
    // defineProperty: a header named __proto__ is only a header.
    Object.defineProperty(headers, name, {
      value: before === undefined ? value : `${before}${name === 'set-cookie' ? '\n' : ', '}${value}`,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return headers
}

/** Node decodes header bytes as Latin-1; real file names and locations are UTF-8. */
export function asUtf8(value: string): string {
  if (!/[\x80-\xff]/.test(value)) return value
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : value
}
