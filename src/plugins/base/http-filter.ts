import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { AddressFilter } from '../../base/address-filter.ts'
import { messageOf } from '../../base/errors.ts'
import { connectFiltered, join } from './connect-filtered.ts'

/** Headers for the proxy alone. */
const OWN = /^proxy-/i

/**
 * Runs another program beside an HTTP proxy on loopback that connects to nothing private. Without a filter it runs
 * without a proxy.
 */
export async function withHttpFilter<T>(
  filter: AddressFilter | undefined,
  run: (proxy: string | undefined) => Promise<T>,
): Promise<T> {
  if (!filter) return await run(undefined)
  const { createServer } = process.getBuiltinModule('node:http')
  const server = createServer((asked, answer) => forward(filter, asked, answer))
  server.on('connect', (asked, client: Socket) => void tunnel(filter, asked, client))
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    return await run(proxy)
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

/** The environment in which a program uses a proxy for every host. */
export function proxyEnvironment(proxy: string | undefined): Record<string, string> {
  if (proxy === undefined) return {}
  const names = ['http_proxy', 'https_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']
  return { ...Object.fromEntries(names.map((name) => [name, proxy])), no_proxy: '', NO_PROXY: '' }
}

function forward(filter: AddressFilter, asked: IncomingMessage, answer: ServerResponse): void {
  const url = URL.parse(asked.url ?? '')
  const refuse = (status: number, why: string) => {
    if (!answer.headersSent) answer.writeHead(status, why.replace(/[^\x20-\x7e]/g, '?')).end()
    else answer.destroy() // It broke off.
  }
  if (url?.protocol !== 'http:') {
    refuse(400, 'Not a URL of HTTP')
    return
  }
  const refusal = filter.refusalOf(url)
  if (refusal !== undefined) {
    refuse(403, refusal)
    return
  }
  const headers = asked.rawHeaders.filter((_, at, all) => !OWN.test(all[at - (at % 2)] ?? ''))
  const { request } = process.getBuiltinModule('node:http')
  const sent = request(url, {
    method: asked.method,
    headers,
    agent: false,
    setHost: false,
    lookup: filter.lookup(Number(url.port) || 80),
  })
  sent.on('error', (error) => refuse(502, messageOf(error)))
  sent.on('response', (got) => {
    got.on('error', () => answer.destroy())
    answer.writeHead(got.statusCode ?? 502, got.statusMessage, got.rawHeaders)
    got.pipe(answer)
  })
  answer.on('close', () => sent.destroy())
  asked.pipe(sent)
}

async function tunnel(filter: AddressFilter, { url = '' }: IncomingMessage, client: Socket): Promise<void> {
  client.on('error', () => client.destroy())
  const target = URL.parse(`https://${url}`)
  try {
    if (!target) throw new Error('Not a host')
    const server = await connectFiltered(
      filter,
      target.hostname.replace(/^\[(.*)\]$/, '$1'),
      Number(target.port) || 443,
    )
    client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    join(client, server)
  } catch (error) {
    client.end(`HTTP/1.1 403 ${messageOf(error).replace(/[^\x20-\x7e]/g, '?')}\r\n\r\n`)
  }
}
