import type { Home } from '../../db/home.ts'
import { transact } from '../../db/retry.ts'
import { lockUnjudged } from '../../db/snapshots.ts'
import { skipOpenResults } from '../../machines/finish-page.ts'
import { judge, recordVerdicts } from '../../machines/judge.ts'

const GIVEN_UP = 'given up'

/**
 * Judges pages, whose files are here, that were sealed without a verdict, newest first: from before outcomes existed,
 * or sealed by their graph alone because even giving up failed, with hooks that may still count as open. It walks a
 * partial index that empties as they are judged.
 * @returns how many it judged; fewer than `limit`: none remain
 */
export async function judgeOldPages({ db, dataDir, dataDirId }: Home, limit: number): Promise<number> {
  return await transact(db, async (tx) => {
    const pages = await lockUnjudged({ db: tx, dataDirId }, limit)
    for (const { id, is_open } of pages) if (is_open) await skipOpenResults(tx, id, GIVEN_UP)
    await recordVerdicts(tx, await judge(tx, dataDir, pages))
    return pages.length
  })
}
