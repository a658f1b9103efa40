import { HashedSet } from './hashed-set.ts'

/** The size of a list's first part, which is shown. */
const SHOWN_URLS = 100
/** The size of the other parts: each becomes pages in one transaction of well under a second. */
const PART_URLS = 2_000
const PART_CHARS = 500_000

/** The URLs of a crawl, canonical, without duplicates, at least one; in parts with one URL per line. */
export class UrlList {
  readonly total: number
  /** The first part: small, shown with the crawl. */
  readonly first: string
  // As bytes outside the heap: with hundreds of megabytes of text in it, the collector would let as much garbage pile
  // up.
  readonly #others: readonly Buffer[]

  constructor(total: number, first: string, others: readonly Buffer[]) {
    this.total = total
    this.first = first
    this.#others = others
  }

  /** Is there more than the first part? */
  get isLong(): boolean {
    return this.#others.length > 0
  }

  /** The parts after the first. */
  *others(): Generator<string> {
    for (const part of this.#others) yield part.toString()
  }

  /** All URLs, in their order. */
  *[Symbol.iterator](): Generator<string> {
    yield* urlsOfPart(this.first)
    for (const part of this.others()) yield* urlsOfPart(part)
  }
}

/** The URLs of one part. */
export function urlsOfPart(part: string): string[] {
  return part.split('\n').filter(Boolean)
}

/** Builds a list from URLs that arrive one by one: there may be millions. */
export class UrlListBuilder {
  readonly #seen = new HashedSet()
  readonly #others: Buffer[] = []
  #first: string | undefined
  #part: string[] = []
  #chars = 0

  /** How many there are so far. */
  get total(): number {
    return this.#seen.size
  }

  /** Adds a canonical URL, unless the list has it. */
  add(url: string): void {
    if (!this.#seen.add(url)) return
    this.#part.push(url)
    this.#chars += url.length
    if (this.#part.length >= (this.#first === undefined ? SHOWN_URLS : PART_URLS) || this.#chars >= PART_CHARS)
      this.#cut()
  }

  /** The list; undefined when no URL was added. */
  list(): UrlList | undefined {
    if (this.#part.length > 0) this.#cut()
    return this.#first === undefined ? undefined : new UrlList(this.total, this.#first, this.#others)
  }

  #cut(): void {
    const part = this.#part.join('\n')
    if (this.#first === undefined) this.#first = part
    else this.#others.push(Buffer.from(part))
    this.#part = []
    this.#chars = 0
  }
}
