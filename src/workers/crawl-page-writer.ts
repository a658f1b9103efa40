import { isMachineTrouble, messageOf } from '../base/errors.ts'
import type { CrawlRow } from '../db/crawls.ts'
import { writeCrawlPage } from './index-pages.ts'
import type { WorkerContext } from './worker-context.ts'

const EVERY_MS = 1_500

/** Keeps the page of a crawl true while it is worked on: at most every 1.5 s, and only when a page came to its end. */
export class CrawlPageWriter {
  readonly #context: WorkerContext
  readonly #crawl: CrawlRow
  readonly #pool: { readonly changes: number }
  #changes: number
  #writtenAt = performance.now()

  /** @param pool counts how often something was finished */
  constructor(context: WorkerContext, crawl: CrawlRow, pool: { readonly changes: number }) {
    this.#context = context
    this.#crawl = crawl
    this.#pool = pool
    this.#changes = pool.changes
  }

  /**
   * Throws when the database does; a full disk keeps the page as it was, and no page of the crawl from being
   * archived.
   */
  async whenDue(): Promise<void> {
    const { changes } = this.#pool
    if (changes === this.#changes || performance.now() - this.#writtenAt < EVERY_MS) return
    try {
      await writeCrawlPage(this.#context.owner.home, this.#crawl, 'started')
    } catch (error) {
      if (!isMachineTrouble(error)) throw error
      this.#context.log.debug(`the crawl's page: ${messageOf(error)}`)
    }
    this.#changes = changes
    this.#writtenAt = performance.now()
  }
}
