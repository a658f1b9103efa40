import type { IncomingMessage, ServerResponse } from 'node:http'
import { sleep } from '../../base/abort.ts'
import { tokensIn } from '../access/cookie.ts'
import type { Session } from '../access/sessions.ts'
import type { Web } from '../web.ts'
import { Hub } from './hub.ts'
import { Stream } from './stream.ts'
import { topicsIn } from './topics.ts'

/** The path of streams. */
export const EVENTS_PATH = '/events'

const MOST_STREAMS = 2_000
/** How often each stream gets a beat; not all at the same moment. */
const BEAT_MS = 25_000
const BEAT_PARTS = 50
/**
 * A stream ends after this time, and its reader opens the next one. A browser keeps open that of a page in its history,
 * whose script is suspended: nobody needs it.
 */
const LIFE_MS = 120_000

/** The streams of a server. They need the connection itself, so they bypass the app. */
export class Events {
  readonly #web: Pick<Web, 'sessions' | 'names' | 'database'>
  readonly #hub: Hub
  readonly #over = new AbortController()

  constructor(web: Web) {
    this.#web = web
    this.#hub = new Hub(web)
    web.sessions.onEnd((id) => this.#hub.end(id))
    void this.#beat()
  }

  /** Answers a request for events: `?topics=archive+crawl:ID`, and `since`, or `Last-Event-ID` on return. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = await this.#session(request)
    const refuse = (status: number, error: string, headers = {}) => {
      response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...headers })
      response.end(`${JSON.stringify({ error })}\n`)
    }
    if (session === undefined) return refuse(401, 'no session: log in')
    if (session === 'unknown') return refuse(503, 'the database is unavailable', { 'Retry-After': '2' })
    if (request.method !== 'GET') return refuse(405, 'events can only be read', { Allow: 'GET' })
    const asked = new URLSearchParams(request.url?.split('?')[1] ?? '')
    const topics = topicsIn(asked.get('topics') ?? '')
    if (!topics) return refuse(400, 'topics must be archive, processes, crawl:ID and page:ID, separated by spaces')
    if (this.#over.signal.aborted) return refuse(503, 'this server is shutting down', { 'Retry-After': '1' })
    if (this.#hub.size >= MOST_STREAMS) return refuse(503, 'too many pages are open', { 'Retry-After': '10' })
    if (response.destroyed) return // The client has gone meanwhile.
    const stream = new Stream(response, session, topics)
    const last = request.headers['last-event-id']
    this.#hub.join(stream, typeof last === 'string' ? last : (asked.get('since') ?? undefined))
    response.on('error', () => {}).on('close', () => this.#hub.leave(stream))
  }

  /** Ends all; browsers reconnect soon, to a newer server if there is one. */
  end(): void {
    this.#over.abort()
    this.#hub.end()
  }

  async #session({ headers }: IncomingMessage): Promise<Session | undefined | 'unknown'> {
    return await this.#web.sessions.of(tokensIn(headers.cookie, this.#web.names)).catch(() => {
      this.#web.database.isAway()
      return 'unknown' as const
    })
  }

  /** Beats a part of the streams at a time. */
  async #beat(): Promise<void> {
    for (let part = 0; !this.#over.signal.aborted; part = (part + 1) % BEAT_PARTS) {
      await sleep(BEAT_MS / BEAT_PARTS, this.#over.signal)
      const streams = this.#hub.all().filter((_stream, at) => at % BEAT_PARTS === part)
      for (const stream of streams) {
        if (performance.now() - stream.begunAt > LIFE_MS) this.#hub.renew(stream)
        else stream.beat()
      }
      void this.#check(streams)
    }
  }

  /** Ends streams whose session is over: another server may have ended it. None is ended while the database is away. */
  async #check(streams: readonly Stream[]): Promise<void> {
    for (const { session } of new Map(streams.map((stream) => [stream.session.id, stream])).values())
      if (!(await this.#web.sessions.isLive(session).catch(() => true))) this.#hub.end(session.id)
  }
}
