import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { transact } from '../db/retry.ts'
import { lockCrawls, resumeCrawls, resumeSnapshots, wakeCrawls } from './commands.ts'
import { type RetryRequest, retry } from './retry.ts'

/**
 * Makes sure that these rows are worked on now: retries what is sealed, resumes what is paused, makes postponed rows
 * due. Rows that a worker has are left to it.
 * @returns the existing crawls that they belong to
 */
export async function requeue(
  db: Database,
  rows: Required<Pick<RetryRequest, 'crawls' | 'snapshots' | 'results'>>,
): Promise<string[]> {
  const { crawls, snapshots, results } = rows
  await retry(db, rows)
  await resumeCrawls(db, crawls)
  await resumeSnapshots(db, snapshots)
  return await transact(db, async (tx) => {
    const pages = sql`(s.id = any(${snapshots}::uuid[])
      or s.id in (select snapshot_id from archive_result where id = any(${results}::uuid[])))`
    const concerned = await lockCrawls(
      tx,
      sql`id = any(${crawls}::uuid[]) or id in (select crawl_id from snapshot s where ${pages})`,
    )
    const isPutOff = sql`status in ('queued', 'started') and claim_token is null and retry_at > now()`
    await sql`
      update snapshot s set retry_at = now(), modified_at = now()
      where (${pages} or s.crawl_id = any(${crawls}::uuid[])) and ${isPutOff}`.execute(tx)
    await sql`update crawl set retry_at = now(), modified_at = now() where id = any(${concerned}::uuid[])
      and ${isPutOff}`.execute(tx)
    await wakeCrawls(tx, concerned)
    return concerned
  })
}
