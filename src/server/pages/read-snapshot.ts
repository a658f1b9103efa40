import { copiesOfUrl, type PageCopy } from '../../db/archived-pages.ts'
import { byIndex } from '../../db/lists/by-index.ts'
import { isAway, type NamedNode, namedNodes } from '../../db/nodes.ts'
import { type PageInWork, pagesInWork } from '../../db/pages-in-work.ts'
import { countResults, firstResultsOfPage } from '../../db/results.ts'
import { type SnapshotRow, snapshotById } from '../../db/snapshots.ts'
import { type SnapshotPage, snapshotPageOf, snapshotRows } from '../../pages/model/snapshot.ts'
import type { Web } from '../web.ts'

/** How many attempts of hooks are shown. */
const MOST_RESULTS = 1_000
/** How far further ones are counted. */
const COUNTED = 100_000
/** How many copies of the URL a page knows of. */
export const MOST_COPIES = 200

/** The data of a page that is shown. */
export interface ReadSnapshot {
  readonly row: SnapshotRow
  readonly snapshot: SnapshotPage
  /** Attempts beyond its results; `COUNTED` stands for that many and more. */
  readonly moreResults: number
  /** The copies of its URL, newest first. */
  readonly copies: readonly PageCopy[]
  /** Its current work. */
  readonly work: PageInWork | undefined
  /** The other node that has its files; undefined: they are here. */
  readonly away: NamedNode | undefined
}

/** Reads a page and its surroundings in one transaction. Undefined: it was deleted. */
export async function readSnapshot(web: Web, id: string): Promise<ReadSnapshot | undefined> {
  const { home } = web.archive
  return await byIndex(home.db, async (db) => {
    const row = await snapshotById(db, id)
    if (row === undefined) return undefined
    const results = await firstResultsOfPage(db, id, MOST_RESULTS)
    const copies = await copiesOfUrl(db, row.url_hash.toString('hex'), MOST_COPIES)
    const rows = await snapshotRows({ db }, id, { snapshot: row, results, isCopied: copies.length > 1 })
    if (rows === undefined) return undefined
    const isWhole = results.length < MOST_RESULTS
    return {
      row,
      snapshot: snapshotPageOf(home, rows),
      moreResults: isWhole ? 0 : (await countResults(db, id, COUNTED)) - MOST_RESULTS,
      copies,
      work:
        row.claimed_by !== null
          ? (await pagesInWork(db, row.crawl_id)).find((one) => one.snapshot_id === id)
          : undefined,
      away: isAway(row.home_node, home) ? (await namedNodes(db, [row.home_node])).get(row.home_node) : undefined,
    }
  })
}
