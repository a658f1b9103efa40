import { connect, type Socket } from 'node:net'
import type { AddressFilter } from '../../base/address-filter.ts'
import { AppError } from '../../base/errors.ts'

/** Connects to a host that the filter lets through. Throws AppError for others, and the network's error. */
export async function connectFiltered(filter: AddressFilter, host: string, port: number): Promise<Socket> {
  const refusal = filter.refusal(host, port)
  if (refusal !== undefined) throw new AppError(refusal)
  return await new Promise((resolve, reject) => {
    const socket = connect({ host, port, lookup: filter.lookup(port), allowHalfOpen: true })
    socket.once('error', reject).once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

/**
 * Passes on what either says, until one has ended: what it has said by then is still passed on. Nobody reads on after
 * that, and a host that never ends would keep both connections.
 */
export function join(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => to.destroy())
    from.once('end', () => from.destroySoon()).once('close', () => to.destroySoon())
    from.pipe(to)
  }
}
