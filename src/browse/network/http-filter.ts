import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Texts } from '../../base/config.ts'
import { messageOf } from '../../base/errors.ts'
import type { AddressFilter } from './address-filter.ts'
import { connectFiltered, join } from './connect-filtered.ts'
import { forward, printable } from './forward.ts'
import { isOwnPeer, TABLES } from './own-peer.ts'
import { bare } from './user-proxy.ts'

const USER = 'archivebox'

/** The conditions under which another program runs. */
interface Around {
  readonly filter: AddressFilter
  /** Names the user's own proxy, if there is one. */
  readonly env: Texts
  /** The requested URL, if any. */
  readonly url?: string | undefined
  /** The folder in which the kernel lists the owners of sockets. */
  readonly tables?: string
}

/**
 * Runs another program. If the filter blocks all private addresses, it gets an HTTP proxy on loopback that enforces
 * this: for our account alone (without /proc, for clients with a password), and through the user's own proxy. Otherwise
 * it runs without one, unless its URL is refused: then throws AppError with the reason.
 */
export async function withHttpFilter<T>(
  { filter, env, url, tables = TABLES }: Around,
  run: (proxy: string | undefined) => Promise<T>,
): Promise<T> {
  if (!filter.isWide) {
    if (url !== undefined) await filter.checkUrl(url)
    return await run(undefined)
  }
  const password = existsSync(tables) ? undefined : randomBytes(16).toString('hex')
  const shown = password === undefined ? '' : `Basic ${Buffer.from(`${USER}:${password}`).toString('base64')}`
  const mayAsk = async ({ socket, headers }: IncomingMessage) =>
    password === undefined ? await isOwnPeer(socket, tables) : headers['proxy-authorization'] === shown
  const { createServer } = process.getBuiltinModule('node:http')
  const server = createServer(async (asked, answer) => {
    const target = URL.parse(asked.url ?? '')
    if (!(await mayAsk(asked))) answer.writeHead(407, { 'proxy-authenticate': 'Basic' }).end()
    else if (target?.protocol !== 'http:') answer.writeHead(400, 'Not an HTTP URL').end()
    else await forward(filter, env, target, asked, answer)
  })
  server.on('connect', async (asked, client: Socket) => {
    client.on('error', () => client.destroy())
    if (await mayAsk(asked)) await tunnel(filter, env, asked, client)
    else client.end('HTTP/1.1 407 Not yours\r\nProxy-Authenticate: Basic\r\n\r\n')
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    return await run(`http://${password === undefined ? '' : `${USER}:${password}@`}${place}`)
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

/** The environment that makes a program use a proxy for every host. */
export function proxyEnvironment(proxy: string | undefined): Record<string, string> {
  if (proxy === undefined) return {}
  const names = ['http_proxy', 'https_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']
  return { ...Object.fromEntries(names.map((name) => [name, proxy])), no_proxy: '', NO_PROXY: '' }
}

async function tunnel(filter: AddressFilter, env: Texts, { url = '' }: IncomingMessage, client: Socket): Promise<void> {
  const target = URL.parse(`https://${url}`)
  try {
    if (!target) throw new Error('Not a host')
    const server = await connectFiltered(filter, bare(target.hostname), Number(target.port) || 443, env)
    client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    join(client, server)
  } catch (error) {
    client.end(`HTTP/1.1 403 ${printable(messageOf(error))}\r\n\r\n`)
  }
}
