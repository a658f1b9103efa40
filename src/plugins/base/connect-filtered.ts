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

/** Passes on what either says, until both have ended or one breaks off. */
export function join(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => to.destroy()).once('close', (broken) => broken && to.destroy())
    from.pipe(to)
  }
}
