import { once } from 'node:events'
import { createServer as createHttpServer, type Server as HttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { sleep } from '../base/abort.ts'
import { AppError, codeOf, EXIT } from '../base/errors.ts'
import type { Listen } from './names.ts'
import { type Holder, holdersOf } from './port-holders.ts'

/** How long a request may take until its head is here, and its whole, in ms: whoever is slower is gone. */
const HEAD_MS = 10_000
const REQUEST_MS = 30_000

/** A request without a Host is refused as one that has two. */
const OPTIONS = { headersTimeout: HEAD_MS, requestTimeout: REQUEST_MS, requireHostHeader: false }

/** Where two may listen at one port, a newer server does before the older one stops. */
const SHARES = process.platform === 'linux' || process.platform === 'freebsd'
/** Elsewhere the older one stops first. */
const AGAIN_MS = 20
const MOST_TRIES = 1_000

/** Says which of those who hold a port are older servers of ours, and has them leave. */
export interface Olders {
  areOurs(holders: readonly Holder[]): Promise<boolean>
  leave(): Promise<void>
}

/**
 * A listener at both addresses of loopback: a browser that looks for a name below `localhost` tries one, and then the
 * other. If only one were ours, whoever has the other could be taken for us.
 */
export class Listener {
  readonly server: HttpServer
  readonly #beside: Server

  constructor(answer: RequestListener) {
    this.server = createHttpServer(OPTIONS, answer)
    // As an HTTP server makes its own.
    this.#beside = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      this.server.emit('connection', socket),
    )
  }

  /** @returns the port; or why it cannot listen there. Where a machine has one of the two, it listens at that one */
  async listen({ host, port }: Listen, reusePort: boolean): Promise<number | Error> {
    const error = await listening(this.server, { host, port }, reusePort)
    if (error) return error
    const { port: found } = this.server.address() as AddressInfo
    const other = await listening(this.#beside, { host: besideOf(host), port: found }, reusePort)
    if (!other || isAbsent(other)) return found
    await closed(this.server)
    return other
  }

  /** Accepts no more, and ends what is under way when it is late. */
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
 * Listens, beside an older server of ours if one is there.
 * @returns where, its port known. Throws AppError when somebody else has the port
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
    // Any port, free at one address and taken at the other, is another one the next time.
    if ((SHARES && port !== 0) || tries > MOST_TRIES) throw taken({ host, port }, holdersOf(port), found)
    await sleep(AGAIN_MS)
  }
}

/** The same at another port when that one is taken. */
export async function listenNear(listener: Listener, { host, port }: Listen, olders: Olders): Promise<Listen> {
  try {
    return await listenAt(listener, { host, port: port > 65_535 ? 0 : port }, olders)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return await listenAt(listener, { host, port: 0 }, olders)
  }
}

/** Nobody listens there, at either address, not even one who would let us listen beside. */
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
  const who = holder ? `: pid ${holder.pid} (${holder.command.slice(0, 60)}) listens there` : ' by another program'
  return new AppError(`port ${port} of ${host} is taken${who}`, {
    hint: `--listen ${host.includes(':') ? `[${host}]` : host}:${port < 65_535 ? port + 1 : 8000} takes another one`,
    exitCode: EXIT.usage,
    cause,
  })
}

function unable({ host, port }: Listen, cause: unknown): AppError {
  const isLow = codeOf(cause) === 'EACCES'
  return new AppError(`cannot listen at ${host}:${port}: ${isLow ? 'that needs root' : String(codeOf(cause))}`, {
    hint: '--listen 127.0.0.1:8000',
    exitCode: EXIT.usage,
    cause,
  })
}
