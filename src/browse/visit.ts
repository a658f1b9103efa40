import type { VisitedTab } from './browser/visit-page.ts'
import type { Page } from './html/page.ts'
import type { PageRequest } from './http/answer.ts'
import type { Credentials } from './persona/credentials.ts'
import type { Recording } from './warc/recording.ts'

/** One visit of a page: what all who take something from it share, one after another. It ends with the last of them. */
export class Visit {
  /** With whose logins the page is visited. */
  credentials: Promise<Credentials> | undefined
  /** The one request for the page by HTTP. */
  pageRequest: PageRequest | undefined
  /** The page in the browser. */
  tab: Promise<VisitedTab> | undefined
  /** How often the page has crashed its tab. */
  crashes = 0
  /** It had the browser to itself. */
  wasAlone = false
  /** The browser had no turn for the page: what is made of it there is made later. */
  comesLater = false
  /** The page that an earlier one has saved; null: it was looked for, and there was none. */
  page: Page | null | undefined
  /** The folder for the WARC of all that the visit receives; undefined: it is not recorded. */
  recordInto: string | undefined
  recording: Recording | undefined
  readonly #closers: (() => Promise<void>)[] = []
  readonly #takers: readonly string[]

  /** @param takers the names of those who share it */
  constructor(takers: readonly string[]) {
    this.#takers = takers
  }

  /** Is this one among those who share it? */
  includes(taker: string): boolean {
    return this.#takers.includes(taker)
  }

  /** What must be done when the visit is over; it never rejects. */
  onClose(closer: () => Promise<void>): void {
    this.#closers.push(closer)
  }

  async close(): Promise<void> {
    await Promise.all(this.#closers.map((closer) => closer()))
  }
}
