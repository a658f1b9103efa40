import { Watch, type Watched } from '../../app/changes.ts'
import { sleep } from '../../base/abort.ts'
import { messageOf } from '../../base/errors.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import type { Web } from '../web.ts'
import { Past, type Place, placeIn } from './past.ts'
import type { Stream } from './stream.ts'
import { idsOf, type Topic, topicsOf } from './topics.ts'

/** How often it looks while somebody listens; and while the database is away, in ms. */
const LOOK_MS = 250
const AWAY_MS = 1_000
/** How often pages in work are reported, since their times change, too. */
const PULSE_MS = 2_000

const AWAY = 'the database is unavailable'

/**
 * Tells streams what changed. It polls while there are any, and sends no statement while there are none. A page then
 * requests itself again: so its content is rendered in one place, for a reload and for a change.
 */
export class Hub {
  readonly #watch: Watch
  readonly #web: Pick<Web, 'database' | 'log'>
  readonly #streams = new Set<Stream>()
  /** Streams that joined since the last look, with their places. */
  readonly #fresh = new Map<Stream, Place | undefined>()
  readonly #past = new Past()
  #isAway = false
  #pulseAt = 0
  #looking: AbortController | undefined

  constructor(web: Pick<Web, 'archive' | 'database' | 'log'>) {
    this.#watch = new Watch(web.archive)
    this.#web = web
  }

  get size(): number {
    return this.#streams.size
  }

  /** @param from the id of the last event that it got, or when its page was made, in ms */
  join(stream: Stream, from: string | undefined): void {
    this.#streams.add(stream)
    this.#fresh.set(stream, placeIn(from))
    if (this.#isAway) stream.send('trouble', this.#id, AWAY)
    if (this.#looking) return
    this.#looking = new AbortController()
    void this.#lookWhile(this.#looking.signal)
  }

  leave(stream: Stream): void {
    this.#fresh.delete(stream)
    if (!this.#streams.delete(stream) || this.#streams.size > 0) return
    this.#looking?.abort()
    this.#looking = undefined
  }

  /** Ends a stream whose reader is to come back at once, without hearing again what it has heard. */
  renew(stream: Stream): void {
    stream.send('again', this.#id, 'the next one')
    stream.end()
    this.leave(stream)
  }

  /** Ends the streams of a session, or all. */
  end(session?: string): void {
    for (const stream of this.#streams) {
      if (session !== undefined && stream.session.id !== session) continue
      stream.end()
      this.leave(stream)
    }
  }

  /** The current streams. */
  all(): readonly Stream[] {
    return [...this.#streams]
  }

  async #lookWhile(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      try {
        await this.#look()
      } catch (error) {
        this.#fail(error)
      }
      await sleep(this.#isAway ? AWAY_MS : LOOK_MS, over)
    }
  }

  /** Whatever keeps it from looking, streams are told once. */
  #fail(error: unknown): void {
    if (isDatabaseAway(error)) this.#web.database.isAway()
    if (this.#isAway) return
    this.#isAway = true
    if (!isDatabaseAway(error)) this.#web.log.error(`what changed: ${messageOf(error)}`)
    for (const stream of this.#streams) stream.send('trouble', this.#id, AWAY)
  }

  async #look(): Promise<void> {
    const before = this.#watch.identity
    // Those that join while it looks are told by the next look: this one does not watch their rows.
    const streams = [...this.#streams]
    const fresh = new Map(this.#fresh)
    const changes = await this.#watch.look(this.#watched())
    const { identity } = this.#watch
    for (const stream of fresh.keys()) this.#fresh.delete(stream)
    const isAnother = before !== '' && before !== identity
    const isBack = this.#isAway
    this.#isAway = false
    const now = Date.now()
    const isPulse = this.#watch.isWorking && now - this.#pulseAt >= PULSE_MS
    if (isPulse) this.#pulseAt = now
    // After an outage anything may have changed, by those who could still reach the database.
    const topics = changes && !isBack ? topicsOf(changes) : undefined
    if (topics === undefined) this.#past.forget()
    else if (topics.length > 0) this.#past.add(topics)
    const told = new Set(isPulse ? [...(topics ?? []), 'processes'] : topics)
    if (isBack) for (const stream of this.#streams) stream.send('well', this.#id, 'the database is back')
    for (const stream of streams) {
      const missed = fresh.has(stream) ? this.#past.since(fresh.get(stream)) : []
      const was = fresh.get(stream)?.identity
      if (isAnother || (was !== undefined && was !== identity))
        stream.send('reload', this.#id, 'this is another database')
      else if (topics === undefined || missed === undefined) stream.tell(this.#id, stream.topics)
      else stream.tell(this.#id, new Set([...told, ...missed]))
    }
  }

  /** What the streams watch, by kind. */
  #watched(): Watched {
    const topics = new Set<Topic>()
    for (const stream of this.#streams) for (const topic of stream.topics) topics.add(topic)
    return { pages: idsOf('page', topics), crawls: idsOf('crawl', topics) }
  }

  get #id(): string {
    return `${this.#watch.identity}.${this.#past.at}`
  }
}
