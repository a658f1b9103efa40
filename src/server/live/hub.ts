import type { Archive } from '../../app/archive.ts'
import { databaseIdentity, Watch } from '../../app/changes.ts'
import { sleep } from '../../base/abort.ts'
import { messageOf } from '../../base/errors.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import type { Web } from '../web.ts'
import type { Stream } from './stream.ts'
import { type Topic, topicsOf } from './topics.ts'

/** How often it looks while somebody listens; and while the database is away, in ms. */
const LOOK_MS = 250
const AWAY_MS = 1_000
/** Times of pages in work move, too. */
const PULSE_MS = 2_000

type Of = Pick<Archive, 'home'>

/**
 * Tells streams what changed. It looks while there are any, and sends no statement while there are none. A page asks
 * for itself again: what it shows is decided in one place, for a reload and for a change.
 */
export class Hub {
  readonly #watch: Watch
  readonly #archive: Of
  readonly #web: Pick<Web, 'database' | 'log'>
  readonly #streams = new Set<Stream>()
  /** Those who came since the last look, with where they were. */
  readonly #fresh = new Map<Stream, Place | undefined>()
  #identity = ''
  /** When the last change was seen, by our clock in ms: whoever was here since has missed nothing. */
  #changedAt = 0
  #isAway = false
  #pulseAt = 0
  #looking: AbortController | undefined

  constructor(archive: Of, web: Pick<Web, 'database' | 'log'>) {
    this.#archive = archive
    this.#watch = new Watch(archive)
    this.#web = web
  }

  get size(): number {
    return this.#streams.size
  }

  /** @param from the id of the last event that it had, or when its page was made, in ms */
  join(stream: Stream, from: string | undefined): void {
    this.#streams.add(stream)
    this.#fresh.set(stream, placeIn(from))
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

  /** Ends streams: of a session, or all. */
  end(session?: string): void {
    for (const stream of this.#streams) {
      if (session !== undefined && stream.session.id !== session) continue
      stream.end()
      this.leave(stream)
    }
  }

  /** The streams that are there now. */
  all(): readonly Stream[] {
    return [...this.#streams]
  }

  async #lookWhile(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      try {
        await this.#look()
      } catch (error) {
        if (isDatabaseAway(error)) this.#web.database.isAway()
        else if (!this.#isAway) this.#web.log.error(`what changed: ${messageOf(error)}`)
        if (!this.#isAway) for (const stream of this.#streams) stream.send('trouble', this.#id, 'the database is away')
        this.#isAway = true
      }
      await sleep(this.#isAway ? AWAY_MS : LOOK_MS, over)
    }
  }

  async #look(): Promise<void> {
    if (this.#identity === '' || this.#isAway) this.#identity = await databaseIdentity(this.#archive)
    const fresh = new Map(this.#fresh)
    this.#fresh.clear()
    const changes = await this.#watch.look()
    const now = Date.now()
    const isBack = this.#isAway
    this.#isAway = false
    const topics = changes ? topicsOf(changes) : []
    if (changes === undefined || isBack || topics.length > 0) this.#changedAt = now
    const isPulse = now - this.#pulseAt >= PULSE_MS
    if (isPulse) this.#pulseAt = now
    const moving: readonly Topic[] =
      isPulse && this.#watch.isWorking && !topics.includes('processes') ? ['processes'] : []
    for (const stream of this.#streams) {
      if (isBack) stream.send('well', this.#id, 'the database is back')
      const from = fresh.get(stream)
      if (fresh.has(stream) && from?.identity !== undefined && from.identity !== this.#identity)
        stream.send('reload', this.#id, 'this is another database')
      else if (isBack || (fresh.has(stream) && !(from && from.ms >= this.#changedAt && from.ms <= now)))
        stream.tell(this.#id, [...stream.topics])
      else stream.tell(this.#id, [...topics, ...moving])
    }
  }

  get #id(): string {
    return `${this.#identity}.${this.#changedAt}`
  }
}

/** Where a browser was: an event of which database, and when. */
interface Place {
  readonly identity: string | undefined
  readonly ms: number
}

function placeIn(from: string | undefined): Place | undefined {
  const [, identity, ms] = /^(?:([\w-]+)\.)?(\d{1,15})$/.exec(from ?? '') ?? []
  return ms === undefined ? undefined : { identity, ms: Number(ms) }
}
