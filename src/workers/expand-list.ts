import { failpoint } from '../base/failpoint.ts'
import { urlsOfPart } from '../base/url-list.ts'
import { archivableUrl, urlFilter } from '../base/urls.ts'
import { lockNextPart, passPart } from '../db/crawl-sources.ts'
import type { Database } from '../db/database.ts'
import { transact } from '../db/retry.ts'
import { insertSnapshots } from '../db/snapshots.ts'
import { ClaimLost } from '../engine/claimed.ts'
import type { CrawlClaim } from '../machines/queues.ts'

/**
 * Turns the next part of a crawl's list into pages of depth 0, each part once, so that a deleted page does not come
 * back. It runs in a transaction (the caller's, if there is one) that is short enough not to delay the renewal of the
 * lease. Throws ClaimLost.
 * @param isRelaxed as for `lockNextPart`
 */
export async function expandPart(db: Database, claim: CrawlClaim, isRelaxed = false): Promise<void> {
  const { id, config } = claim.row
  await transact(db, async (tx) => {
    const locked = await lockNextPart(tx, claim, isRelaxed)
    if (!locked) throw new ClaimLost(`crawl ${id} was paused, sealed or taken over`)
    const { crawl, next } = locked
    if (next === null) return
    const inside = urlFilter(config.url_allowlist ?? '', config.url_denylist ?? '')
    const pages = urlsOfPart(next).map(({ url, details }) => ({ ...details, url: archivableUrl(url) }))
    const wanted = pages.filter(({ url }) => inside(url))
    await insertSnapshots(tx, id, wanted, { depth: 0, parentId: null }, crawl)
    await passPart(tx, id, next.part)
    await failpoint('claim.crawl_pages_added')
  })
}
