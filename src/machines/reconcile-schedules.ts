import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { withRetry } from '../db/retry.ts'

/**
 * A new leader repairs rows that no crash leaves so, but manual changes or a restored backup may: open rows without a
 * schedule become due, paused ones wait again. @returns how many
 */
export async function reconcileSchedules(db: Database): Promise<number> {
  let mended = 0
  for (const model of ['crawl', 'snapshot'] as const) {
    const update = sql`
      update ${sql.table(model)}
      set retry_at = case status when 'paused' then '9999-01-01T00:00Z'::timestamptz else now() end, modified_at = now()
      where status in ('queued', 'started') and retry_at is null or status = 'paused' and retry_at is distinct
        from '9999-01-01T00:00Z'`
    const { numAffectedRows } = await withRetry(db, () => update.execute(db))
    mended += Number(numAffectedRows ?? 0)
  }
  return mended
}
