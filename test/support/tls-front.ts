import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** A PostgreSQL client's first message when it wants TLS: length 8, code 80877103. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/**
 * A TCP port in front of a PostgreSQL server that speaks TLS and nothing else: it disconnects clients that do not ask
 * for it.
 */
export async function tlsFront(
  url: string,
  credentials: { readonly key: string; readonly cert: string },
): Promise<{ readonly url: string; readonly encrypted: () => number; close(): void }> {
  const target = new URL(url)
  const path = `${decodeURIComponent(target.hostname)}/.s.PGSQL.${target.port || 5432}`
  const open = new Set<Socket>()
  let encrypted = 0
  const listener = createServer((raw) => {
    open.add(raw)
    raw
      .on('error', () => {})
      .once('data', (first) => {
        if (!first.equals(SSL_REQUEST)) return raw.destroy()
        raw.write('S')
        const client = new TLSSocket(raw, { isServer: true, ...credentials })
        const server = target.hostname.startsWith('%2F') ? connect(path) : connect(Number(target.port), target.hostname)
        open.add(server)
        client.once('secure', () => (encrypted += 1))
        for (const [from, to] of [
          [client, server],
          [server, client],
        ] as const)
          from
            .on('error', () => to.destroy())
            .on('close', () => to.destroy())
            .pipe(to)
      })
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  return {
    url: `postgres://${target.username}@127.0.0.1:${port}${target.pathname}`,
    encrypted: () => encrypted,
    close: () => {
      listener.close()
      for (const socket of open) socket.destroy()
    },
  }
}
