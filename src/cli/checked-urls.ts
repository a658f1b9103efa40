import { messageOf, UsageError } from '../base/errors.ts'
import { type UrlList, UrlListBuilder } from '../base/url-list.ts'
import { archivableUrl } from '../base/urls.ts'
import { onStderr } from './screen/palette.ts'
import { terminal } from './terminal.ts'

/** Of lines that are left out so many are named. */
const NAMED = 10
const MOST_URLS = 10_000_000

/** The URLs among lines that come one by one: those that can be archived, each once. */
export class CheckedUrls {
  readonly #urls = new UrlListBuilder()
  readonly #named: string[] = []
  #leftOut = 0

  /** Throws UsageError when there are more than a crawl can have. */
  take(line: string): void {
    try {
      this.#urls.add(archivableUrl(line))
    } catch (error) {
      this.#leftOut += 1
      if (this.#named.length < NAMED) this.#named.push(messageOf(error))
    }
    if (this.#urls.total > MOST_URLS) throw new UsageError(`more than ${MOST_URLS} URLs`, 'add them as several crawls')
  }

  /** Names what was left out, the first few of it. Throws UsageError when no URL is left. */
  list(): UrlList {
    const list = this.#urls.list()
    if (!list) {
      const hint = 'archivebox-ts add https://example.com, or one URL a line on stdin'
      throw new UsageError(this.#named[0] ?? 'no URL given', hint)
    }
    for (const reason of this.#named) terminal.say(`${onStderr.yellow('left out:')} ${reason}`)
    if (this.#leftOut > NAMED) terminal.say(`${onStderr.yellow('left out:')} ${this.#leftOut - NAMED} more like these`)
    return list
  }
}

/** The URLs that can be archived, each once. The others are named; when none is left, that is an error. */
export function checkedUrls(lines: Iterable<string>): UrlList {
  const urls = new CheckedUrls()
  for (const line of lines) urls.take(line)
  return urls.list()
}
