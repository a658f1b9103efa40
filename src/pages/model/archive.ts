import { latestCrawls } from '../../db/crawl-summaries.ts'
import type { Home } from '../../db/home.ts'
import { otherNodes } from '../../db/nodes.ts'
import type { WorkStatus } from '../../db/tables.ts'
import type { NamedCrawl } from './crawl-name.ts'
import type { Kept } from './snapshot.ts'

/** What the page of the archive shows. */
export interface ArchivePage {
  /** The latest, newest first. */
  readonly crawls: readonly ArchiveCrawl[]
  readonly totalCrawls: number
  readonly totalBytes: number
  readonly index: ArchiveIndex
}

export interface ArchiveCrawl extends NamedCrawl, Kept {
  readonly status: WorkStatus
  readonly createdAt: Date
  /** How many of its pages are finished, and with which outcomes. */
  readonly sealed: number
  readonly partial: number
  readonly failed: number
  /** The name of the other node that has its page on disk; '': that is here. */
  readonly node: string
}

/** What the index of the archive contains. */
export interface ArchiveIndex {
  /** Its chunks, the latest first. */
  readonly chunks: readonly number[]
  readonly pages: number
}

/** What the page of the archive shows. */
export async function readArchivePage(home: Pick<Home, 'db' | 'dataDirId'>, index: ArchiveIndex): Promise<ArchivePage> {
  const { crawls: latest, totals } = await latestCrawls(home.db)
  const nodeOf = await otherNodes(home, latest)
  const crawls = latest.map((crawl) => ({ ...crawl, node: nodeOf(crawl) }))
  return { crawls, totalCrawls: totals.crawls, totalBytes: totals.bytes, index }
}
