import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CRAWL_WACZ } from '../../base/crawl-wacz.ts'
import { crawlProgress } from '../../db/crawl-progress.ts'
import { crawlFacts } from '../../db/crawl-summaries.ts'
import { type CrawlRow, crawlById } from '../../db/crawls.ts'
import type { Home } from '../../db/home.ts'
import type { Outcome, WorkStatus } from '../../db/tables.ts'
import type { NamedCrawl } from './crawl-name.ts'
import type { Kept } from './snapshot.ts'

/** What the page of a crawl shows. */
export interface CrawlPage extends NamedCrawl, Kept {
  readonly tags: readonly string[]
  readonly status: WorkStatus
  /** A message about its end. */
  readonly message: string
  readonly maxDepth: number
  readonly createdAt: Date
  /** When its data was read. */
  readonly writtenAt: Date
  /** How many of its pages are in which state. */
  readonly counts: CrawlCounts
  /** Seconds to its end, estimated from its pace; null when that would be a guess. */
  readonly secondsLeft: number | null
  /** One file that replays all of its pages, relative to its folder; undefined: there is none. */
  readonly wacz: string | undefined
  /** The chunks of the index that have its pages, the latest first. */
  readonly chunks: readonly number[]
}

export type CrawlCounts = Readonly<Record<Exclude<WorkStatus, 'sealed'> | Outcome, number>>

/**
 * The content of a crawl's page.
 * @param known its row, if it need not be read
 * @returns undefined: it was deleted
 */
export async function readCrawlPage(
  { db, dataDir }: Pick<Home, 'db' | 'dataDir'>,
  id: string,
  known?: CrawlRow,
): Promise<CrawlPage | undefined> {
  const crawl = known ?? (await crawlById(db, id))
  if (crawl === undefined) return undefined
  const [progress] = crawl.status === 'started' ? await crawlProgress(db, { crawlId: id }) : []
  const { counts, chunks, ...named } = await crawlFacts(db, id)
  return {
    ...named,
    id,
    folder: crawl.output_dir,
    tags: crawl.tags,
    status: crawl.status,
    message: crawl.message,
    maxDepth: crawl.max_depth,
    createdAt: crawl.created_at,
    writtenAt: new Date(),
    counts,
    secondsLeft: progress?.seconds_left ?? null,
    wacz: existsSync(join(dataDir, crawl.output_dir, CRAWL_WACZ)) ? CRAWL_WACZ : undefined,
    chunks: chunks.toReversed(),
  }
}
