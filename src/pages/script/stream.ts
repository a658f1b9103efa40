import type { FromWorker } from './stream-messages.ts'

/** After a refusal a browser does not reconnect by itself. */
const AGAIN_MS = 3_000

/** The one stream of a browser, or of a tab. */
export class Stream {
  readonly #hear: (message: FromWorker) => void
  #source: EventSource | undefined
  #topics: readonly string[] = []
  #last: string | undefined
  #timer: number | undefined

  constructor(hear: (message: FromWorker) => void) {
    this.#hear = hear
  }

  /**
   * Listens to these topics from now on; without any: not at all.
   * @param since the caller is up to date until then, in ms: later events are repeated
   */
  listen(topics: readonly string[], since?: number): void {
    const wanted = [...new Set(topics)].sort()
    const isSame = wanted.join(' ') === this.#topics.join(' ')
    const [, identity = '', heard = ''] = /^(.*\.)?(\d+)$/.exec(this.#last ?? '') ?? []
    const isBehind = since !== undefined && heard !== '' && since < Number(heard)
    if (isSame && this.#source) {
      if (isBehind) this.#hear({ event: 'change', topics: wanted })
      return
    }
    this.#topics = wanted
    if (since !== undefined && (heard === '' || isBehind)) this.#last = `${identity}${since}`
    this.#open()
  }

  #open(): void {
    clearTimeout(this.#timer)
    this.#source?.close()
    this.#source = undefined
    if (this.#topics.length === 0) return
    const asked = new URLSearchParams({ topics: this.#topics.join(' '), ...(this.#last && { since: this.#last }) })
    const source = new EventSource(`/events?${asked}`)
    this.#source = source
    for (const event of ['change', 'reload', 'trouble', 'well'] as const)
      source.addEventListener(event, ({ data, lastEventId }: MessageEvent<string>) => {
        if (source !== this.#source) return
        this.#last = lastEventId
        this.#hear(event === 'change' ? { event, topics: data.split(' ') } : { event })
      })
    // A server ends each stream now and then: one that nobody reads any more is not restarted.
    source.addEventListener('again', ({ lastEventId }: MessageEvent<string>) => {
      if (source !== this.#source) return
      this.#last = lastEventId
      this.#open()
    })
    source.addEventListener('error', () => {
      if (source !== this.#source) return
      this.#hear({ event: 'broken' })
      if (source.readyState === EventSource.CLOSED) this.#timer = setTimeout(() => this.#open(), AGAIN_MS)
    })
  }
}
