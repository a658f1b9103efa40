import { sql } from 'kysely'
import type { Home } from '../db/home.ts'
import { transact } from '../db/retry.ts'
import { judge, recordVerdicts } from '../machines/judge.ts'

/**
 * Judges pages that were sealed before outcomes existed, newest first. It walks a partial index that empties as they
 * are judged.
 * @returns how many it judged; fewer than `limit`: none remain
 */
export async function judgeOldPages({ db, dataDir }: Home, limit: number): Promise<number> {
  return await transact(db, async (tx) => {
    const { rows } = await sql<{ id: string; output_dir: string }>`
      select id, output_dir from snapshot where status = 'sealed' and outcome is null
      order by id desc limit ${limit} for no key update skip locked`.execute(tx)
    await recordVerdicts(tx, await judge(tx, dataDir, rows))
    return rows.length
  })
}
