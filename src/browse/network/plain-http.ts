import { createServer, type IncomingMessage, type Server } from 'node:http'
import { isIP, type Socket } from 'node:net'
import type { Texts } from '../../base/config.ts'
import type { AddressFilter } from './address-filter.ts'
import { connectFiltered, join } from './connect-filtered.ts'
import { forward } from './forward.ts'

/** Accepts a browser's connections for plain HTTP, and passes each request on through the user's proxy. */
export class PlainHttp {
  readonly #filter: AddressFilter
  readonly #env: Texts
  /** The host that the browser has connected to. */
  readonly #places = new WeakMap<Socket, { readonly host: string; readonly port: number }>()
  readonly #server: Server // It does not listen on any port.

  constructor(filter: AddressFilter, env: Texts) {
    this.#filter = filter
    this.#env = env
    this.#server = createServer((asked, answer) => {
      const url = this.#urlOf(asked)
      if (url) void forward(filter, env, url, asked, answer)
      else answer.destroy()
    })
    this.#server.on('upgrade', (asked, client: Socket, head) => {
      this.#upgrade(asked, client, head).catch(() => client.destroy())
    })
  }

  serve(client: Socket, host: string, port: number): void {
    this.#places.set(client, { host, port })
    this.#server.emit('connection', client)
  }

  /** The host of the connection counts, whatever the request itself says. */
  #urlOf({ url = '', socket }: IncomingMessage): URL | null {
    const { host, port } = this.#places.get(socket)!
    return url.startsWith('/') ? URL.parse(`http://${isIP(host) === 6 ? `[${host}]` : host}:${port}${url}`) : null
  }

  /** A web socket needs its own connection. */
  async #upgrade({ method, url, rawHeaders, socket }: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
    const { host, port } = this.#places.get(socket)!
    const server = await connectFiltered(this.#filter, host, port, this.#env)
    const lines = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1]}\r\n`] : []))
    server.write(`${method} ${url} HTTP/1.1\r\n${lines.join('')}\r\n`)
    if (head.length > 0) server.write(head)
    join(client, server)
  }
}
