import type { Home } from '../db/home.ts'
import { transact } from '../db/retry.ts'
import { lockUnjudged } from '../db/snapshots.ts'
import { judge, recordVerdicts } from '../machines/judge.ts'

/**
 * Judges pages that were sealed before outcomes existed, newest first. It walks a partial index that empties as they
 * are judged.
 * @returns how many it judged; fewer than `limit`: none remain
 */
export async function judgeOldPages({ db, dataDir }: Home, limit: number): Promise<number> {
  return await transact(db, async (tx) => {
    const pages = await lockUnjudged(tx, limit)
    await recordVerdicts(tx, await judge(tx, dataDir, pages))
    return pages.length
  })
}
