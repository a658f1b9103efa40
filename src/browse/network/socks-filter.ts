import { once } from 'node:events'
import { type AddressInfo, createServer, isIPv6, type Server, type Socket } from 'node:net'
import type { Texts } from '../../base/config.ts'
import type { AddressFilter } from './address-filter.ts'
import { connectFiltered, join } from './connect-filtered.ts'
import { isOwnPeer } from './own-peer.ts'
import { PlainHttp } from './plain-http.ts'
import { proxyFor, speaksHttp } from './user-proxy.ts'

const VERSION = 5
const CONNECT = 1
/** Types of addresses, and replies (RFC 1928). */
const [IPV4, NAME, IPV6] = [1, 3, 4]
const [DONE, REFUSED] = [0, 2]
/** The first byte of a TLS connection. */
const TLS = 0x16

/**
 * Starts a SOCKS5 proxy on loopback through which a browser makes all of its connections: every name, whether requested
 * by a page or a redirect, is resolved and connected to here, or by the user's own proxy. It serves our account alone,
 * or without /proc, which lists the owners of connections, everybody: browsers send no password to a SOCKS proxy. (A
 * browser shows the errors of an HTTP proxy as pages.)
 * @param env names the user's own proxy, if there is one
 */
export async function startSocksFilter(
  filter: AddressFilter,
  env: Texts = {},
): Promise<{ readonly server: Server; port: number }> {
  const plain = new PlainHttp(filter, env)
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => client.destroy())
    serve(client, filter, env, plain).catch(() => client.destroy())
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  return { server, port: (server.address() as AddressInfo).port }
}

/** The arguments that make a browser connect only through the proxy, even to loopback, and never by UDP. */
export const socksArguments = (port: number): string[] => [
  `--proxy-server=socks5://127.0.0.1:${port}`,
  '--proxy-bypass-list=<-loopback>',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  '--disable-quic',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
]

async function serve(client: Socket, filter: AddressFilter, env: Texts, plain: PlainHttp): Promise<void> {
  if ((await isOwnPeer(client)) === false) return void client.destroy()
  const [, methods = 0] = await take(client, 2)
  await take(client, methods)
  client.write(Buffer.of(VERSION, 0)) // No authentication.
  const [, command, , kind] = await take(client, 4)
  const host = await hostOf(client, kind)
  const port = (await take(client, 2)).readUInt16BE()
  const answer = (code: number) => client.write(Buffer.of(VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0))
  if (
    command === CONNECT &&
    speaksHttp(proxyFor(env, 'http:', host, port)) &&
    filter.refusal(host, port) === undefined
  ) {
    // An HTTP proxy takes requests, and connections perhaps only for TLS: the first byte tells which this is.
    answer(DONE)
    const first = await take(client, 1)
    client.unshift(first)
    if (first[0] === TLS) join(client, await connectFiltered(filter, host, port, env))
    else plain.serve(client, host, port)
    return
  }
  const server = command === CONNECT ? await connectFiltered(filter, host, port, env).catch(() => undefined) : undefined
  if (!server || client.destroyed) {
    answer(REFUSED)
    client.end()
    server?.destroy()
    return
  }
  answer(DONE)
  join(client, server)
}

async function hostOf(client: Socket, kind: number | undefined): Promise<string> {
  if (kind === NAME) return String(await take(client, (await take(client, 1))[0] ?? 0))
  if (kind === IPV4) return (await take(client, 4)).join('.')
  if (kind !== IPV6) throw new Error('unknown type of address')
  const groups = (await take(client, 16)).toString('hex').match(/.{4}/g)!.join(':')
  return isIPv6(groups) ? new URL(`http://[${groups}]/`).hostname.slice(1, -1) : groups
}

/** Reads this many bytes. Throws when the connection ends before. */
async function take(socket: Socket, bytes: number): Promise<Buffer> {
  if (bytes === 0) return Buffer.alloc(0)
  for (;;) {
    const piece = socket.read(bytes) as Buffer | null
    if (piece?.length === bytes) return piece
    if (socket.readableEnded || socket.destroyed) throw new Error('the connection ended')
    await once(socket, 'readable')
  }
}
