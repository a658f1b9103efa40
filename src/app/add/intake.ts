import { discreet } from '../../base/clean.ts'
import { messageOf, UsageError } from '../../base/errors.ts'
import { urlDetails } from '../../base/url-details.ts'
import { type UrlList, UrlListBuilder } from '../../base/url-list.ts'
import { archivableUrl } from '../../base/urls.ts'
import type { AddressFilter } from '../../browse/network/address-filter.ts'
import type { Entry, Found } from '../../importers/entry.ts'
import { urlsInLine } from '../../importers/text.ts'
import type { Call } from '../call.ts'

/** How many of the entries that are left out are named. */
const NAMED = 10
const MOST_URLS = 10_000_000
const NO_URL = { why: 'no URL given', hint: 'for example: https://example.com' }

/** An entry with settings for its page alone; untrusted lists have none. */
export interface ListedPage extends Entry {
  readonly settings?: Readonly<Record<string, string>>
}

/** Entries that no crawl gets: the first reasons, and the number of the others. */
export interface LeftOut {
  readonly event: 'left out'
  readonly reasons: readonly string[]
  readonly more: number
}

/** Collects the entries of lists: URLs that can be archived, without duplicates, with details; counts the rest. */
export class Intake {
  readonly #urls = new UrlListBuilder()
  readonly #named: string[] = []
  read = 0
  /** Entries that cannot be archived: not URLs, or of another kind. */
  refused = 0
  /** Places where the list itself is damaged. */
  broken = 0
  twice = 0
  readonly #filter: AddressFilter | undefined

  /** @param filter the hosts that may be archived; undefined: all */
  constructor(filter?: AddressFilter) {
    this.#filter = filter
  }

  /** Throws UsageError when there are more than a crawl can have. */
  take(found: Found | ListedPage): void {
    this.read += 1
    if ('broken' in found) {
      this.broken += 1
      this.#name(found.broken, found.line)
      return
    }
    try {
      if (found.url === '')
        throw new Error(`an entry without a URL${found.title ? `: ${found.title.slice(0, 60)}` : ''}`)
      // Many programs write the URL where there is no title.
      const details = urlDetails(found.title === found.url ? { ...found, title: undefined } : found)
      const url = archivableUrl(found.url)
      const refusal = this.#filter?.refusalOf(url)
      if (refusal !== undefined) throw new Error(`${url.slice(0, 200)}: ${refusal}`)
      if (!this.#urls.add(url, details)) this.twice += 1
    } catch (error) {
      this.refused += 1
      this.#name(messageOf(error), found.line)
    }
    if (this.#urls.total > MOST_URLS) throw new UsageError(`more than ${MOST_URLS} URLs`, 'add them as several crawls')
  }

  /** The first entry that was left out, and where. */
  get firstLeftOut(): string | undefined {
    return this.#named[0]
  }

  /**
   * Reports what was left out, if anything. Throws UsageError when no URL is left.
   * @param none what is wrong when there was no entry at all, and what helps without a URL
   */
  list({ tell }: Call<LeftOut> = {}, { why, hint } = NO_URL): UrlList {
    const list = this.#urls.list()
    if (!list) throw new UsageError(this.#named[0] ?? why, hint)
    const more = this.refused + this.broken - this.#named.length
    if (this.#named.length > 0) tell?.({ event: 'left out', reasons: this.#named, more })
    return list
  }

  close(): void {
    this.#urls.close()
  }

  #name(reason: string, line: number | undefined): void {
    const clean = discreet(reason) // It quotes a stranger's list.
    if (this.#named.length < NAMED) this.#named.push(line === undefined ? clean : `line ${line}: ${clean}`)
  }
}

/**
 * The URLs of pages, which may lack their schemes; the first of duplicates counts. Throws UsageError when none is left.
 */
export function checkedPages(pages: Iterable<ListedPage>, call: Call<LeftOut> = {}): UrlList {
  const intake = new Intake()
  for (const { url: line, ...rest } of pages) for (const url of urlsInLine(line.trim())) intake.take({ url, ...rest })
  return intake.list(call)
}

/** The same for URLs alone. */
export function checkedUrls(urls: Iterable<string>, call: Call<LeftOut> = {}): UrlList {
  return checkedPages(
    Array.from(urls, (url) => ({ url })),
    call,
  )
}
