import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** ReadyForQuery: the statement has been executed, and committed unless a transaction is open. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5])

interface Link {
  readonly client: Socket
  readonly server: Socket
  /** Passes nothing any more, but neither side is told: half-open. */
  silent: boolean
}

/**
 * A TCP port in front of a PostgreSQL server, which breaks connections in every way that a network and a server can.
 */
export class DatabaseProxy {
  /** The URL of the same database, through the proxy. */
  readonly url: string
  readonly #listener: Server
  readonly #links = new Set<Link>()
  #refusing = false
  /** The number of refused connections. */
  refused = 0
  #silent = false
  #delayMs = 0
  #bytesLeft = Number.POSITIVE_INFINITY
  #cut: { readonly pattern: RegExp; readonly after: RegExp | undefined; readonly happened: () => void } | undefined
  #deaf: RegExp | undefined

  private constructor(listener: Server, target: URL) {
    this.#listener = listener
    const { port } = listener.address() as AddressInfo
    this.url = `postgres://${target.username}@127.0.0.1:${port}${target.pathname}?sslmode=disable`
    listener.on('connection', (client) => this.#join(client, target))
  }

  /** Opens a proxy in front of the server of this URL. */
  static async before(url: string): Promise<DatabaseProxy> {
    const listener = createServer().listen(0, '127.0.0.1')
    await once(listener, 'listening')
    return new DatabaseProxy(listener, new URL(url))
  }

  /** The number of connections through it, silent ones included. */
  get connections(): number {
    return this.#links.size
  }

  /** Passes everything from now on; silent connections stay silent. */
  pass(): void {
    this.#refusing = false
    this.#silent = false
    this.#delayMs = 0
    this.#bytesLeft = Number.POSITIVE_INFINITY
  }

  /** Cuts all connections. */
  reset(): void {
    for (const link of this.#links) cut(link)
  }

  /** Cuts all connections, and every new one at once. */
  refuse(): void {
    this.#refusing = true
    this.reset()
  }

  /** Acts as a black hole: open connections and new ones stay open, but nothing passes. */
  silence(): void {
    this.#silent = true
    for (const link of this.#links) link.silent = true
  }

  /** Delays each answer by this time. */
  slow(ms: number): void {
    this.#delayMs = ms
  }

  /** Cuts the connection on which the server's answers reach this many bytes in all, at that byte. */
  cutAfter(bytes: number): void {
    this.#bytesLeft = bytes
  }

  /**
   * Cuts a connection instead of passing the answer to the next statement that matches: the server receives and
   * executes it. Resolves then.
   * @param after only on a connection on which a statement that matches this came before: which COMMIT, for example
   */
  async cutInsteadOfReplyTo(pattern: RegExp, after?: RegExp): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#cut = { pattern, after, happened: resolve }
    })
  }

  /** Silences connections at a matching statement. */
  silenceOn(pattern: RegExp): void {
    this.#deaf = pattern
  }

  async close(): Promise<void> {
    const closed = once(this.#listener, 'close')
    this.#listener.close()
    this.reset()
    await closed
  }

  #join(client: Socket, target: URL): void {
    const host = decodeURIComponent(target.hostname)
    const port = Number(target.port || 5432)
    const server = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
    const link: Link = { client, server, silent: this.#silent }
    this.#links.add(link)
    let doomed: (() => void) | undefined
    let armed = false
    for (const socket of [client, server]) {
      socket.on('error', () => {})
      socket.on('close', () => {
        // A half-open connection: the other side never learns of it.
        if (!link.silent || socket === client) cut(link)
        this.#links.delete(link)
      })
    }
    if (this.#refusing) {
      this.refused += 1
      cut(link)
    }
    client.on('data', (bytes) => {
      const text = bytes.toString('latin1')
      if (this.#deaf?.test(text)) link.silent = true
      if (link.silent) return
      armed ||= this.#cut?.after?.test(text) === true
      if (this.#cut?.pattern.test(text) && (armed || !this.#cut.after)) {
        doomed = this.#cut.happened
        this.#cut = undefined
      }
      server.write(bytes)
    })
    server.on('data', (bytes) => {
      if (doomed) {
        if (!bytes.subarray(-6).subarray(0, 5).equals(READY)) return
        cut(link)
        doomed()
      } else void this.#answer(link, bytes)
    })
  }

  async #answer(link: Link, bytes: Buffer): Promise<void> {
    if (this.#delayMs > 0) await delay(this.#delayMs)
    if (link.silent) return
    link.client.write(bytes.subarray(0, this.#bytesLeft))
    this.#bytesLeft -= bytes.length
    if (this.#bytesLeft <= 0) cut(link)
  }
}

function cut({ client, server }: Link): void {
  client.destroy()
  server.destroy()
}
