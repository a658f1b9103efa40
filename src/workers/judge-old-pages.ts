import type { Home } from '../db/home.ts'
import { transact } from '../db/retry.ts'
import { lockUnjudged } from '../db/snapshots.ts'
import { judge, recordVerdicts } from '../machines/judge.ts'

/**
 * Judges pages that were sealed before there were outcomes, the newest first. Walks an index that holds nothing else,
 * and is empty when they are done.
 * @returns how many, at most `limit`; fewer: there are no more
 */
export async function judgeOldPages({ db, dataDir }: Home, limit: number): Promise<number> {
  return await transact(db, async (tx) => {
    const pages = await lockUnjudged(tx, limit)
    await recordVerdicts(tx, await judge(tx, dataDir, pages))
    return pages.length
  })
}
