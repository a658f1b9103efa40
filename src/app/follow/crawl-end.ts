import { crawlProgress, madeBy, onlyPageOf, skippedFor } from '../../db/crawl-progress.ts'
import type { CrawlRow } from '../../db/crawls.ts'
import { failureGroups, latestFailures } from '../../db/failures.ts'
import { otherNodes } from '../../db/nodes.ts'
import { crawlRecord } from '../../db/records.ts'
import { isConsequence } from '../../machines/cause.ts'
import type { Archive } from '../archive.ts'

/** How many of the pages that failed alone are named by their URLs. */
const NAMED = 100

/** How a sealed crawl went. */
export async function crawlEnd({ home }: Pick<Archive, 'home'>, crawl: CrawlRow) {
  const { db } = home
  const [[progress], firstPage, plugins, skipped] = await Promise.all([
    crawlProgress(db, { crawlId: crawl.id }),
    onlyPageOf(db, crawl.id),
    madeBy(db, crawl.id),
    skippedFor(db, crawl.id),
  ])
  const { counts, total } = progress!
  const hasFailures = counts.failed + counts.partial > 1
  const groups = hasFailures ? await failureGroups(db, { crawlId: crawl.id }) : []
  const latest = hasFailures ? await latestFailures(db, { crawlId: crawl.id, limit: NAMED }) : []
  return {
    counts,
    total,
    /** The name of the other node that has its files; '': they are here. */
    node: (await otherNodes(home, [crawl]))(crawl),
    /** The folder of its only page, or its own. */
    folder: (total === 1 ? firstPage : undefined) ?? crawl.output_dir,
    /** The kinds of copies that were made. */
    plugins,
    /** What hooks lacked. */
    lacks: skipped.filter((reason) => !isConsequence(reason)),
    /** For several pages: why they failed. */
    failures: { groups, urls: new Map(latest.map(({ snapshot_id, url }) => [snapshot_id, url])) },
    record: {
      ...crawlRecord({ ...crawl, counts }),
      snapshots: total,
      archived: counts.archived + counts.partial,
    },
  }
}
