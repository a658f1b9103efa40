import { failpoint } from '../../base/failpoint.ts'
import { lockNextPart, type PlacedPart, passPart } from '../../db/crawl-sources.ts'
import type { CrawlRow } from '../../db/crawls.ts'
import type { Database } from '../../db/database.ts'
import { transact } from '../../db/retry.ts'
import { insertSnapshots } from '../../db/snapshots.ts'
import { ClaimLost } from '../../engine/claimed.ts'
import type { CrawlClaim } from '../../machines/queues.ts'
import { wantedPages } from '../../machines/start-crawl.ts'

/** While pages are due, the next part waits this many times as long as the last one took. */
const REST = 9

/**
 * When a crawl expands the next part of its list. Its pages and the list share the cores and the database: at once, a
 * hundred thousand URLs take a third of the speed of the first pages. A list whose pages may lead to others is made
 * into pages at once: what is in it must not be found first.
 */
export class ListPace {
  readonly #rest: number
  #dueAt = 0

  constructor({ max_depth }: Pick<CrawlRow, 'max_depth'>) {
    this.#rest = max_depth === 0 ? REST : 0
  }

  get isDue(): boolean {
    return performance.now() >= this.#dueAt
  }

  /** Expands the next part. Throws ClaimLost. */
  async expand(db: Database, claim: CrawlClaim): Promise<void> {
    const begun = performance.now()
    await expandPart(db, claim)
    const ended = performance.now()
    this.#dueAt = ended + this.#rest * (ended - begun)
  }
}

/**
 * Turns the next part of a crawl's list into pages of depth 0, each part once, so that a deleted page does not come
 * back. It runs in a transaction that is short enough not to delay the renewal of the lease. Throws ClaimLost.
 */
async function expandPart(db: Database, claim: CrawlClaim): Promise<void> {
  await transact(db, async (tx) => {
    const added = await addPart(tx, claim)
    if (added) await passPart(tx, claim.id, added.part)
  })
}

/**
 * Adds the pages of the next part in the caller's transaction, which records that this part was expanded. Throws
 * ClaimLost.
 * @returns that part; null: there is none
 */
export async function addPart(tx: Database, claim: CrawlClaim): Promise<PlacedPart | null> {
  const { id, config } = claim.row
  const locked = await lockNextPart(tx, claim)
  if (!locked) throw new ClaimLost(`crawl ${id} was paused, sealed or taken over`)
  const { crawl, next } = locked
  if (next === null) return null
  await insertSnapshots(tx, id, wantedPages(next, config), { depth: 0, parentId: null }, crawl)
  await failpoint('claim.crawl_pages_added')
  return next
}
