import type { ServerResponse } from 'node:http'
import type { Session } from '../access/sessions.ts'
import type { Topic } from './topics.ts'

/** A client with this much unsent data does not read any more. */
const MOST_UNSENT_BYTES = 262_144
/** How soon a browser reconnects, in ms: after a break, and when the server says goodbye. */
const RETRY_MS = 1_000
const SOON_MS = 200

/** One browser that listens: server-sent events. */
export class Stream {
  readonly session: Session
  readonly topics: ReadonlySet<Topic>
  readonly begunAt = performance.now()
  readonly #response: ServerResponse

  constructor(response: ServerResponse, session: Session, topics: ReadonlySet<Topic>) {
    this.#response = response
    this.session = session
    this.topics = topics
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'X-Content-Type-Options': 'nosniff',
      // Tells a proxy to pass on data as it arrives.
      'X-Accel-Buffering': 'no',
    })
    this.#write(`retry: ${RETRY_MS}\n\n`)
  }

  /** Reports changes, as far as it listens to them. @param id where a browser that reconnects left off */
  tell(id: string, topics: ReadonlySet<Topic>): void {
    const own = [...this.topics].filter((topic) => topics.has(topic))
    if (own.length > 0) this.send('change', id, own.join(' '))
  }

  /** @param data one line */
  send(event: 'change' | 'reload' | 'trouble' | 'well' | 'again', id: string, data: string): void {
    this.#write(`id: ${id}\nevent: ${event}\ndata: ${data}\n\n`)
  }

  /** Shows that the connection is alive: proxies, and clients that count, close a silent one. */
  beat(): void {
    this.#write(':\n\n')
  }

  /** Ends the stream. */
  end(): void {
    if (!this.#response.writableEnded) this.#response.end(`retry: ${SOON_MS}\n\n`)
  }

  #write(text: string): void {
    if (this.#response.destroyed || this.#response.writableEnded) return
    this.#response.write(text)
    if (this.#response.writableLength > MOST_UNSENT_BYTES) this.#response.destroy()
  }
}
