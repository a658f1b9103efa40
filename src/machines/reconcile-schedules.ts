import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { transact } from '../db/retry.ts'
import { lockCrawls, wakeCrawls } from './commands.ts'

const UNSCHEDULED = sql`
  (status in ('queued', 'started') and retry_at is null
    or status = 'paused' and retry_at is distinct from '9999-01-01T00:00Z')`

const SCHEDULE = sql`
  retry_at = case status when 'paused' then '9999-01-01T00:00Z'::timestamptz else now() end, modified_at = now()`

/**
 * A new leader repairs rows that no crash leaves so, but manual changes or a restored backup may: open rows without a
 * schedule become due, paused ones wait again, and a crawl that was released as idle over such a page becomes due.
 * @returns how many
 */
export async function reconcileSchedules(db: Database): Promise<number> {
  return await transact(db, async (tx) => {
    const ids = await lockCrawls(tx, sql`id = any(array(select crawl_id from snapshot where ${UNSCHEDULED}))`)
    const crawls = await sql`update crawl set ${SCHEDULE} where ${UNSCHEDULED}`.execute(tx)
    if (ids.length === 0) return Number(crawls.numAffectedRows ?? 0)
    const pages = await sql`update snapshot set ${SCHEDULE} where ${UNSCHEDULED}`.execute(tx)
    await wakeCrawls(tx, ids)
    return Number((crawls.numAffectedRows ?? 0n) + (pages.numAffectedRows ?? 0n))
  })
}
