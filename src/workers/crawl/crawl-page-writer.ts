import { isMachineTrouble, messageOf } from '../../base/errors.ts'
import type { CrawlRow } from '../../db/crawls.ts'
import { writeCrawlPage } from '../index/index-pages.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'

const EVERY_MS = 1_500

/**
 * Keeps the page of a crawl current while pages are archived: it is written at first, then when a page has ended, at
 * most every 1.5 s.
 */
export class CrawlPageWriter {
  readonly #context: WorkerContext
  readonly #crawl: CrawlRow
  readonly #pool: { readonly changes: number }
  #changes: number | undefined
  #writtenAt = Number.NEGATIVE_INFINITY

  /** @param pool counts how often a page made progress */
  constructor(context: WorkerContext, crawl: CrawlRow, pool: { readonly changes: number }) {
    this.#context = context
    this.#crawl = crawl
    this.#pool = pool
  }

  /** Rethrows errors of the database. A full disk leaves the old page in place and does not hold up the crawl. */
  async whenDue(): Promise<void> {
    const { changes } = this.#pool
    if (changes === this.#changes || performance.now() - this.#writtenAt < EVERY_MS) return
    try {
      await writeCrawlPage(this.#context.owner.home, this.#crawl.id, { ...this.#crawl, status: 'started' })
    } catch (error) {
      if (!isMachineTrouble(error)) throw error
      this.#context.log.debug(`the crawl's page: ${messageOf(error)}`)
    }
    this.#changes = changes
    this.#writtenAt = performance.now()
  }
}
