import type { ServerResponse } from 'node:http'
import type { Session } from '../access/sessions.ts'
import type { Topic } from './topics.ts'

/** Who has not read so much by now does not read. */
const MOST_UNSENT_BYTES = 262_144
/** How soon a browser comes back, in ms: after a break, and when the server says goodbye. */
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
      // A proxy sends on what comes as it comes.
      'X-Accel-Buffering': 'no',
    })
    this.#write(`retry: ${RETRY_MS}\n\n`)
  }

  /** Tells of changes, as far as it listens to them. @param id where a browser that comes back was */
  tell(id: string, topics: ReadonlySet<Topic>): void {
    const own = [...this.topics].filter((topic) => topics.has(topic))
    if (own.length > 0) this.send('change', id, own.join(' '))
  }

  /** @param data one line */
  send(event: 'change' | 'reload' | 'trouble' | 'well' | 'again', id: string, data: string): void {
    this.#write(`id: ${id}\nevent: ${event}\ndata: ${data}\n\n`)
  }

  /** Says that it is still there: a proxy, and whoever counts, closes what is silent. */
  beat(): void {
    this.#write(':\n\n')
  }

  /** Says goodbye. */
  end(): void {
    if (!this.#response.writableEnded) this.#response.end(`retry: ${SOON_MS}\n\n`)
  }

  #write(text: string): void {
    if (this.#response.destroyed || this.#response.writableEnded) return
    this.#response.write(text)
    if (this.#response.writableLength > MOST_UNSENT_BYTES) this.#response.destroy()
  }
}
