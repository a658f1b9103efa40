import { sql } from 'kysely'
import type { Home } from '../db/home.ts'
import { transact } from '../db/retry.ts'
import { resumeCrawls, resumeSnapshots } from './commands.ts'
import { crawlMachine } from './crawl.ts'
import { idsOf, wokenRows } from './moved.ts'
import { lockCrawlsAbove, pagesOf, type Retried, type RetryRequest, retry } from './retry.ts'
import { snapshotMachine } from './snapshot.ts'

/**
 * Makes sure that these rows are worked on now: retries sealed ones, resumes paused ones, makes postponed ones due.
 * Rows that a worker has are left to it.
 * @returns the existing crawls that they belong to, and what was left unchanged, or will run elsewhere
 */
export async function requeue(
  home: Pick<Home, 'db' | 'dataDirId'>,
  rows: Required<Pick<RetryRequest, 'crawls' | 'snapshots' | 'results'>>,
): Promise<{ concerned: string[] } & Pick<Retried, 'adopted' | 'elsewhere' | 'lost'>> {
  const { db } = home
  const { crawls, snapshots } = rows
  const { adopted, elsewhere, lost } = await retry(home, rows)
  await resumeCrawls(db, crawls)
  await resumeSnapshots(db, snapshots)
  return await transact(db, async (tx) => {
    const concerned = await lockCrawlsAbove(tx, rows)
    // Without sealed ones, of which a crawl may have a million.
    const pages = sql`array(
      select id from snapshot
      where (id = any(array(${pagesOf(rows)})) or crawl_id = any(${crawls}::uuid[]))
        and status in ('queued', 'started') and claim_token is null and retry_at > now())`
    const states = ['queued', 'started'] as const
    await sql`
      with ${wokenRows(snapshotMachine, { as: 'pages', rows: pages, states })},
        ${wokenRows(crawlMachine, { as: 'crawls', rows: idsOf(concerned), states })}
      select pg_notify('archivebox_work', '')`.execute(tx)
    return { concerned, adopted, elsewhere, lost }
  })
}
