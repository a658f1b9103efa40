import type { VisitedTab } from './browser/visit-page.ts'
import type { Page } from './html/page.ts'
import type { PageRequest } from './http/answer.ts'
import type { Credentials } from './persona/credentials.ts'
import type { Recording } from './warc/recording.ts'

/**
 * One visit of a page: everything that the hooks which capture it share, one after another. It ends with the last of
 * them.
 */
export class Visit {
  /** The logins for the visit. */
  credentials: Promise<Credentials> | undefined
  /** The one request for the page by HTTP. */
  pageRequest: PageRequest | undefined
  /** The page in the browser. */
  tab: Promise<VisitedTab> | undefined
  /** How many times the page has crashed its tab. */
  crashes = 0
  /** Whether the page had exclusive use of the browser. */
  wasAlone = false
  /** Whether the browser had no turn for the page: captures in it are made later. */
  comesLater = false
  /** The page that an earlier hook has saved; null: there was none when last looked for. */
  page: Page | null | undefined
  /** The folder for the WARC of everything that the visit receives; undefined: it is not recorded. */
  recordInto: string | undefined
  recording: Recording | undefined
  readonly #closers: (() => Promise<void>)[] = []
  readonly #takers: readonly string[]

  /** @param takers the names of the hooks that share it */
  constructor(takers: readonly string[]) {
    this.#takers = takers
  }

  /** Whether this hook shares it. */
  includes(taker: string): boolean {
    return this.#takers.includes(taker)
  }

  /** Registers a cleanup for the end of the visit; it never rejects. */
  onClose(closer: () => Promise<void>): void {
    this.#closers.push(closer)
  }

  async close(): Promise<void> {
    await Promise.all(this.#closers.map((closer) => closer()))
  }
}
