import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AppError, codeOf } from '../base/errors.ts'
import type { Listen } from './names.ts'

/** How long a request may take until its head is here, and its whole, in ms: whoever is slower is gone. */
export const HEAD_MS = 10_000
export const REQUEST_MS = 30_000

/** Listens. @returns where, its port known. Throws AppError when the port is taken */
export async function listenAt(server: Server, { host, port }: Listen): Promise<Listen> {
  try {
    server.listen({ host, port, reusePort: false })
    await once(server, 'listening')
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE') throw error
    throw new AppError(`${host}:${port} is taken`, { hint: '--listen HOST:PORT takes another one', cause: error })
  }
  return { host, port: (server.address() as AddressInfo).port }
}
