import { headOf, type LineHead, type LineRest, restOf } from '../index-line.ts'
import { hostOf } from '../page-row.ts'

/** One page: the fields for filters at once; the rest of its line is read when it is shown, or searched. */
export class Entry implements LineHead {
  readonly number: number
  readonly seconds: number
  readonly outcome: LineHead['outcome']
  readonly crawl: string
  readonly tags: readonly string[]
  readonly #line: string
  #words: string | undefined
  #host: string | undefined
  #node = ''

  constructor(line: string) {
    const { number, seconds, outcome, crawl, tags } = headOf(line)
    this.number = number
    this.seconds = seconds
    this.outcome = outcome
    this.crawl = crawl
    this.tags = tags
    this.#line = line
  }

  get rest(): LineRest {
    return restOf(this.#line)
  }

  get cause(): string {
    return this.outcome === 'archived' ? '' : this.rest.cause
  }

  get host(): string {
    this.#host ??= hostOf(this.rest.url)
    return this.#host
  }

  /** The text to search, in lower case. */
  get words(): string {
    if (this.#words === undefined) {
      const { url, title, text, node } = this.rest
      this.#node = node
      this.#words = `${title} ${url} ${this.tags.join(' ')} ${text}`.toLowerCase()
    }
    return this.#words
  }

  /** After it was searched: the other node that has its text, which was not; '': it was. */
  get unread(): string {
    return this.#node
  }
}
