import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { transact } from '../db/retry.ts'
import { resumeCrawls, resumeSnapshots, wakeCrawls } from './commands.ts'
import { lockCrawlsAbove, pagesOf, type RetryRequest, retry } from './retry.ts'

/**
 * Makes sure that these rows are worked on now: retries what is sealed, resumes what is paused, makes postponed rows
 * due. Rows that a worker has are left to it.
 * @returns the existing crawls that they belong to, and those among them that are adopted, which are left as they are
 */
export async function requeue(
  db: Database,
  rows: Required<Pick<RetryRequest, 'crawls' | 'snapshots' | 'results'>>,
): Promise<{ concerned: string[]; adopted: string[] }> {
  const { crawls, snapshots } = rows
  const { adopted } = await retry(db, rows)
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
    return { concerned, adopted }
  })
}
