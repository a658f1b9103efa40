import { connect, type Socket } from 'node:net'
import type { Texts } from '../../base/config.ts'
import { AppError } from '../../base/errors.ts'
import type { AddressFilter } from './address-filter.ts'
import { connectByProxy, proxyFor } from './user-proxy.ts'

/**
 * Connects to a host that the filter lets through, by the proxy that the user's environment names for it, which then
 * decides where a name leads: here it only may lead to nothing private. Throws AppError for others, and the network's
 * error.
 * @param env the user's; undefined: no proxy
 */
export async function connectFiltered(
  filter: AddressFilter,
  host: string,
  port: number,
  env: Texts = {},
): Promise<Socket> {
  const refusal = filter.refusal(host, port)
  if (refusal !== undefined) throw new AppError(refusal)
  const proxy = proxyFor(env, 'https:', host, port)
  if (proxy) {
    await filter.check(host, port)
    return await connectByProxy(proxy, host, port)
  }
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
