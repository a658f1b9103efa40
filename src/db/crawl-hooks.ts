import type { Home } from './home.ts'
import type { ProcessRow } from './processes.ts'
import { withRetry } from './retry.ts'

/**
 * The processes of a crawl's own hooks below one crawl worker: those that run, and those that have ended, as far as
 * they are still known.
 * @param parentId the crawl worker's process
 */
export async function crawlHooks({ db }: Home, parentId: string, crawlId: string): Promise<ProcessRow[]> {
  const select = db
    .selectFrom('process')
    .selectAll()
    .where('parent_id', '=', parentId)
    .where('process_type', '=', 'hook')
    .where('crawl_id', '=', crawlId)
    .where('snapshot_id', 'is', null)
    .orderBy('seq')
  return await withRetry(db, () => select.execute())
}
