import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Server } from 'node:net'
import { sleep } from '../base/abort.ts'
import { AppError, codeOf, EXIT } from '../base/errors.ts'
import type { Listen } from './names.ts'
import { type Holder, holdersOf } from './port-holders.ts'

/** How long a request may take until its head is here, and its whole, in ms: whoever is slower is gone. */
export const HEAD_MS = 10_000
export const REQUEST_MS = 30_000

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
 * Listens, beside an older server of ours if one is there.
 * @returns where, its port known. Throws AppError when somebody else has the port
 */
export async function listenAt(server: Server, { host, port }: Listen, olders: Olders): Promise<Listen> {
  if (port !== 0 && !(await isFree({ host, port }))) {
    const holders = holdersOf(port)
    if (!(await olders.areOurs(holders))) throw taken({ host, port }, holders)
    if (!SHARES) await olders.leave()
  }
  for (let tries = 1; ; tries += 1) {
    const error = await listening(server, { host, port }, SHARES)
    if (error === undefined) return { host, port: (server.address() as AddressInfo).port }
    if (codeOf(error) !== 'EADDRINUSE') throw error
    if (SHARES || tries > MOST_TRIES) throw taken({ host, port }, holdersOf(port), error)
    await sleep(AGAIN_MS)
  }
}

/** The same at another port when that one is taken. */
export async function listenNear(server: Server, { host, port }: Listen, olders: Olders): Promise<Listen> {
  try {
    return await listenAt(server, { host, port: port > 65_535 ? 0 : port }, olders)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return await listenAt(server, { host, port: 0 }, olders)
  }
}

/** Nobody listens there, not even one who would let us listen beside. */
async function isFree(listen: Listen): Promise<boolean> {
  const probe = createServer()
  const error = await listening(probe, listen, false)
  if (error === undefined) await new Promise((resolve) => probe.close(resolve))
  else if (codeOf(error) !== 'EADDRINUSE') throw unable(listen, error)
  return error === undefined
}

async function listening(server: Server, { host, port }: Listen, reusePort: boolean): Promise<unknown> {
  const listens = once(server, 'listening')
  server.listen({ host, port, reusePort })
  return await listens.then(
    () => undefined,
    (error: unknown) => error,
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
