import { hash } from 'node:crypto'

/** So many URLs, its first part, are shown of a list. */
const SHOWN_URLS = 100
/** The other parts: each becomes pages in one transaction, which takes well under a second. */
const PART_URLS = 2_000
const PART_CHARS = 500_000

/** The URLs of a crawl, canonical and each once, at least one: so many in parts, each of them one URL a line. The first part is small. */
export interface UrlList {
  readonly total: number
  readonly parts: readonly [string, ...string[]]
}

/** All URLs of a list, in its order. */
export function* eachUrl({ parts }: UrlList): Generator<string> {
  for (const part of parts) yield* urlsOfPart(part)
}

/** The URLs of one part. */
export function urlsOfPart(part: string): string[] {
  return part.split('\n').filter(Boolean)
}

/** Makes a list out of URLs that come one by one. Keeps their text and 16 bytes of hash of each, no more: there may be millions. */
export class UrlListBuilder {
  readonly #seen = new Set<string>()
  readonly #parts: string[] = []
  #part: string[] = []
  #chars = 0

  /** How many there are so far. */
  get total(): number {
    return this.#seen.size
  }

  /** Adds a canonical URL, unless the list has it. */
  add(url: string): void {
    // 128 bits: two URLs never share them.
    const key = hash('sha256', url, 'buffer').toString('latin1', 0, 16)
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    this.#part.push(url)
    this.#chars += url.length
    if (this.#part.length >= (this.#parts.length === 0 ? SHOWN_URLS : PART_URLS) || this.#chars >= PART_CHARS) this.#cut()
  }

  /** The list; undefined when no URL was added. */
  list(): UrlList | undefined {
    if (this.#part.length > 0) this.#cut()
    const [first, ...others] = this.#parts
    return first === undefined ? undefined : { total: this.total, parts: [first, ...others] }
  }

  #cut(): void {
    this.#parts.push(this.#part.join('\n'))
    this.#part = []
    this.#chars = 0
  }
}
