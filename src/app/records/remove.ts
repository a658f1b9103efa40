import { AppError } from '../../base/errors.ts'
import type { Home } from '../../db/home.ts'
import { listedByIds, type Model, RESULTS } from '../../db/lists/listings.ts'
import { crawlsOfSnapshots } from '../../db/snapshots.ts'
import { type Deleted, deleteCrawl, deleteResult, deleteSnapshot } from '../../machines/deletion.ts'
import { reconcilePages } from '../../workers/repair/reconcile-pages.ts'
import type { Archive } from '../archive.ts'

export interface RemoveInput {
  readonly noun: Model['noun']
  readonly ids: readonly string[]
}

/** The outcome for one row. */
export interface Removed {
  readonly id: string
  /** False: it no longer existed, or could not be deleted. */
  readonly removed: boolean
  /** The names of the other nodes that are still to remove files of it. */
  readonly elsewhere: readonly string[]
  readonly refused?: AppError
}

const DELETE: Readonly<Record<Model['noun'], (home: Home, id: string) => Promise<Deleted | undefined>>> = {
  crawl: deleteCrawl,
  snapshot: deleteSnapshot,
  result: deleteResult,
}

/**
 * Deletes rows and their files for good, one after another, each completely or not at all. The pages on disk that show
 * them are rewritten at the end, also when the reader stops early.
 */
export async function* remove(
  { home }: Pick<Archive, 'home'>,
  { noun, ids }: RemoveInput,
): AsyncGenerator<Removed, void, void> {
  const { crawls, snapshots } = await shownBy(home, noun, ids)
  let isBroken = false
  try {
    for (const id of ids) {
      try {
        const deleted = await DELETE[noun](home, id)
        yield { id, removed: deleted !== undefined, elsewhere: deleted?.elsewhere ?? [] }
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        yield { id, removed: false, elsewhere: [], refused: error }
      }
    }
  } catch (error) {
    isBroken = true // The cause is reported, not that pages could not be written as a result.
    throw error
  } finally {
    if (!isBroken) await reconcilePages(home, crawls, snapshots)
  }
}

/** The pages on disk that show these rows: of which crawls and snapshots. */
async function shownBy({ db }: Home, noun: Model['noun'], ids: readonly string[]) {
  if (noun === 'crawl') return { crawls: [], snapshots: [] }
  if (noun === 'snapshot') return { crawls: await crawlsOfSnapshots(db, ids), snapshots: [] }
  const snapshots = [...new Set((await listedByIds(db, RESULTS, ids)).map((row) => row.snapshot_id))]
  return { crawls: await crawlsOfSnapshots(db, snapshots), snapshots }
}
