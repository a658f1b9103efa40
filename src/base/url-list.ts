import { HashedSet } from './hashed-set.ts'
import { Spool, type Spooled } from './spool.ts'
import type { UrlDetails } from './url-details.ts'

/** The size of a list's first part, which is shown. */
const SHOWN_URLS = 100
/** The size of the other parts: each becomes pages in one transaction of well under a second. */
const PART_URLS = 2_000
const PART_CHARS = 500_000

/** A stored part of a list. */
export interface ListPart {
  /** One per line. */
  readonly urls: string
  /** Further details of each: one JSON object per line, or nothing. '': none of any. */
  readonly details: string
}

/** One URL of a list. */
export interface ListedUrl {
  readonly url: string
  readonly details?: UrlDetails | undefined
}

/** The URLs of a crawl, canonical, without duplicates, at least one; in parts. */
export class UrlList {
  readonly total: number
  /** The first part: small, shown with the crawl. */
  readonly first: ListPart
  readonly #others: readonly (() => ListPart)[]

  constructor(total: number, first: ListPart, others: readonly (() => ListPart)[]) {
    this.total = total
    this.first = first
    this.#others = others
  }

  /** Whether it has more than the row of a crawl has room for: more than the URLs of the first part. */
  get isMoreThanUrls(): boolean {
    return this.#others.length > 0 || this.first.details !== ''
  }

  /** The parts after the first. */
  *others(): Generator<ListPart> {
    for (const part of this.#others) yield part()
  }

  /** All parts, in their order. */
  *parts(): Generator<ListPart> {
    yield this.first
    yield* this.others()
  }

  /** All URLs, in their order. */
  *[Symbol.iterator](): Generator<ListedUrl> {
    for (const part of this.parts()) yield* urlsOfPart(part)
  }
}

/** The URLs of one part. */
export function urlsOfPart({ urls, details }: ListPart): ListedUrl[] {
  const lines = details === '' ? [] : details.split('\n')
  return urls.split('\n').flatMap((url, at) => {
    if (url === '') return []
    return lines[at] ? { url, details: JSON.parse(lines[at]) as UrlDetails } : { url }
  })
}

/** Builds a list from URLs that arrive one by one: there may be millions. All but the first part is on disk. */
export class UrlListBuilder {
  readonly #seen = new HashedSet()
  readonly #spool = new Spool()
  readonly #others: (() => ListPart)[] = []
  #first: ListPart | undefined
  #urls: string[] = []
  #details: string[] = []
  #chars = 0

  /** How many there are so far. */
  get total(): number {
    return this.#seen.size
  }

  /** Adds a canonical URL. @returns false when the list has it already: the first one counts */
  add(url: string, details?: UrlDetails): boolean {
    if (!this.#seen.add(url)) return false
    const text = details === undefined ? '' : JSON.stringify(details)
    this.#urls.push(url)
    this.#details.push(text)
    this.#chars += url.length + text.length
    if (this.#urls.length >= (this.#first === undefined ? SHOWN_URLS : PART_URLS) || this.#chars >= PART_CHARS)
      this.#cut()
    return true
  }

  /** The list; undefined when no URL was added. */
  list(): UrlList | undefined {
    if (this.#urls.length > 0) this.#cut()
    return this.#first === undefined ? undefined : new UrlList(this.total, this.#first, this.#others)
  }

  /** Forgets the list. */
  close(): void {
    this.#spool.close()
  }

  #cut(): void {
    const part = { urls: this.#urls.join('\n'), details: this.#details.some(Boolean) ? this.#details.join('\n') : '' }
    if (this.#first === undefined) this.#first = part
    else this.#others.push(this.#toDisk(part))
    this.#urls = []
    this.#details = []
    this.#chars = 0
  }

  #toDisk({ urls, details }: ListPart): () => ListPart {
    const places: readonly Spooled[] = [this.#spool.add(urls), this.#spool.add(details)]
    return () => ({ urls: this.#spool.read(places[0]!), details: this.#spool.read(places[1]!) })
  }
}
