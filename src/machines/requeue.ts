import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { transact } from '../db/retry.ts'
import { resumeCrawls, resumeSnapshots, wakeCrawls } from './commands.ts'
import { lockCrawlsAbove, pagesOf, type RetryRequest, retry } from './retry.ts'

/**
 * Sees to it that these rows are worked on now: what is at its end is retried, what is paused goes on, what is put off
 * is due. Rows that somebody works on are left to him.
 * @returns the crawls that they belong to, as far as they are still there
 */
export async function requeue(
  db: Database,
  rows: Required<Pick<RetryRequest, 'crawls' | 'snapshots' | 'results'>>,
): Promise<string[]> {
  const { crawls, snapshots } = rows
  await retry(db, rows)
  await resumeCrawls(db, crawls)
  await resumeSnapshots(db, snapshots)
  return await transact(db, async (tx) => {
    const concerned = await lockCrawlsAbove(tx, rows)
    const isPutOff = sql`status in ('queued', 'started') and claim_token is null and retry_at > now()`
    await sql`
      update snapshot set retry_at = now(), modified_at = now()
      where (id = any(array(${pagesOf(rows)})) or crawl_id = any(${crawls}::uuid[])) and ${isPutOff}`.execute(tx)
    await sql`update crawl set retry_at = now(), modified_at = now() where id = any(${concerned}::uuid[])
      and ${isPutOff}`.execute(tx)
    await wakeCrawls(tx, concerned)
    return concerned
  })
}
