import { once } from 'node:events'
import { createServer as createHttpServer, type Server as HttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { sleep } from '../base/abort.ts'
import { AppError, codeOf, EXIT } from '../base/errors.ts'
import type { Listen } from './names.ts'
import { type Holder, holdersOf } from './port-holders.ts'

/** How long the head of a request may take, and all of it, in ms: slower clients are disconnected. */
const HEAD_MS = 10_000
const REQUEST_MS = 30_000

/** Lets a request without a Host through, so that it is refused in the same way as one with two. */
const OPTIONS = { headersTimeout: HEAD_MS, requestTimeout: REQUEST_MS, requireHostHeader: false }

/** Whether two processes can listen on one port: then a newer server listens before the older one stops. */
const SHARES = process.platform === 'linux' || process.platform === 'freebsd'
/** Elsewhere the older one stops first; how often the port is tried. */
const AGAIN_MS = 20
const MOST_TRIES = 1_000

/** Tells which holders of a port are older servers of ours, and makes them exit. */
export interface Olders {
  areOurs(holders: readonly Holder[]): Promise<boolean>
  leave(): Promise<void>
}

/**
 * A listener on both loopback addresses: a browser that resolves a name below `localhost` tries one, and then the
 * other. If only one were ours, whoever has the other could pose as us.
 */
export class Listener {
  readonly server: HttpServer
  readonly #beside: Server

  constructor(answer: RequestListener) {
    this.server = createHttpServer(OPTIONS, answer)
    // With the options of an HTTP server.
    this.#beside = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      this.server.emit('connection', socket),
    )
  }

  /** @returns the port; or why it cannot listen there. A machine that has only one of the addresses uses that one */
  async listen({ host, port }: Listen, reusePort: boolean): Promise<number | Error> {
    const error = await listening(this.server, { host, port }, reusePort)
    if (error) return error
    const { port: found } = this.server.address() as AddressInfo
    const other = await listening(this.#beside, { host: besideOf(host), port: found }, reusePort)
    if (!other || isAbsent(other)) return found
    await closed(this.server)
    return other
  }

  /** Accepts no more connections, and ends requests in progress after `lateMs`. */
  async close(lateMs: number): Promise<void> {
    const over = Promise.all([this.server, this.#beside].map(closed))
    this.server.closeIdleConnections()
    const late = setTimeout(() => this.server.closeAllConnections(), lateMs)
    await over
    clearTimeout(late)
  }
}

const besideOf = (host: string) => (host === '::1' ? '127.0.0.1' : '::1')

/** A machine without IPv6, or without IPv4. */
const isAbsent = (error: unknown) => ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'].includes(codeOf(error) ?? '')

async function closed(server: Server): Promise<void> {
  if (!server.listening) return
  await new Promise<void>((resolve) => server.close(() => resolve()))
}

/**
 * Listens, beside an older server of ours if there is one.
 * @returns where, with the actual port. Throws AppError when somebody else has the port
 */
export async function listenAt(listener: Listener, { host, port }: Listen, olders: Olders): Promise<Listen> {
  if (port !== 0 && !(await isFree({ host, port }))) {
    const holders = holdersOf(port)
    if (!(await olders.areOurs(holders))) throw taken({ host, port }, holders)
    if (!SHARES) await olders.leave()
  }
  for (let tries = 1; ; tries += 1) {
    const found = await listener.listen({ host, port }, SHARES)
    if (typeof found === 'number') return { host, port: found }
    if (codeOf(found) !== 'EADDRINUSE') throw found
    // For port 0: a port may be free on one address and taken on the other; the next try gets another port.
    if ((SHARES && port !== 0) || tries > MOST_TRIES) throw taken({ host, port }, holdersOf(port), found)
    await sleep(AGAIN_MS)
  }
}

/** The same, on another port when that one is taken. */
export async function listenNear(listener: Listener, { host, port }: Listen, olders: Olders): Promise<Listen> {
  try {
    return await listenAt(listener, { host, port: port > 65_535 ? 0 : port }, olders)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return await listenAt(listener, { host, port: 0 }, olders)
  }
}

/** Whether nobody listens there, on either address, not even a process that would share the port. */
async function isFree(listen: Listen): Promise<boolean> {
  const probe = new Listener(() => {})
  const found = await probe.listen(listen, false)
  if (typeof found === 'number') await probe.close(0)
  else if (codeOf(found) !== 'EADDRINUSE') throw unable(listen, found)
  return typeof found === 'number'
}

async function listening(server: Server, { host, port }: Listen, reusePort: boolean): Promise<Error | undefined> {
  const listens = once(server, 'listening')
  server.listen({ host, port, reusePort })
  return await listens.then(
    () => undefined,
    (error: Error) => error,
  )
}

function taken({ host, port }: Listen, [holder]: readonly Holder[], cause?: unknown): AppError {
  const who = holder ? `: pid ${holder.pid} (${holder.command.slice(0, 60)}) is listening there` : ' by another program'
  return new AppError(`port ${port} of ${host} is taken${who}`, {
    hint: `--listen ${host.includes(':') ? `[${host}]` : host}:${port < 65_535 ? port + 1 : 8000} uses another one`,
    exitCode: EXIT.usage,
    cause,
  })
}

function unable({ host, port }: Listen, cause: unknown): AppError {
  const isLow = codeOf(cause) === 'EACCES'
  return new AppError(`cannot listen on ${host}:${port}: ${isLow ? 'that needs root' : String(codeOf(cause))}`, {
    hint: '--listen 127.0.0.1:8000',
    exitCode: EXIT.usage,
    cause,
  })
}
