import { connect, type Socket } from 'node:net'
import type { Texts } from '../../base/config.ts'
import { AppError } from '../../base/errors.ts'
import type { AddressFilter } from './address-filter.ts'
import { connectByProxy, proxyFor } from './user-proxy.ts'

/**
 * Connects to a host that the filter allows, through the proxy in the user's environment, if there is one for it. Such
 * a proxy resolves the name, so here only the name itself is checked. Throws AppError for refused hosts, and the
 * network's error.
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
 * Passes data both ways until one side has ended; what it sent before that is still passed on. Then it stops, since a
 * host that never ends would keep both connections open.
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
