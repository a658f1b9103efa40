import type { CrawlRow } from '../db/crawls.ts'
import { LIVE_STATUSES } from '../db/processes.ts'
import type { SnapshotRow } from '../db/snapshots.ts'

/** A claimed page, with what must be known before it is begun. */
export interface ClaimedPage extends SnapshotRow {
  readonly before: BeforePage
}

export interface BeforePage {
  /** Its crawl, without the URLs; null when it was deleted meanwhile. */
  readonly crawl: CrawlOfPage | null
  /** The processes of this data dir that supervise a live hook of the page, or the host that runs one. */
  readonly former: readonly string[]
  /** The folder of the latest other copy of its URL. */
  readonly earlier: string | null
  /** It has no results, and there is no other node that might take it. */
  readonly isNew: boolean
}

export type CrawlOfPage = Pick<CrawlRow, (typeof OF_CRAWL)[number]>

const OF_CRAWL = ['id', 'max_depth', 'max_size', 'config', 'output_dir', 'unable'] as const

/** `before` as a column of a claim: of the row that was taken, within the data dir of the fence. */
export const BEFORE_PAGE = `jsonb_build_object(
      'crawl', (
        select jsonb_build_object(${OF_CRAWL.map((name) => `'${name}', ${name}`).join(', ')})
        from crawl where id = taken.crawl_id
      ),
      'former', array(
        select distinct parent_id from process
        where process.status in (${LIVE_STATUSES.map((status) => `'${status}'`).join(', ')})
          and data_dir_id = (select data_dir_id from fence) and process_type = 'hook' and parent_id is not null
          and (snapshot_id = taken.id
            or id in (select process_id from archive_result where snapshot_id = taken.id and status = 'started'))
      ),
      'earlier', (
        select s.output_dir from archived_page a join snapshot s on s.id = a.snapshot_id
        where a.url_hash = taken.url_hash and s.id <> taken.id and s.status is not distinct from 'sealed'
          and s.outcome in ('archived', 'partial')
        order by a.number desc limit 1
      ),
      'isNew', not exists (select from archive_result where snapshot_id = taken.id)
        and not exists (select from node where id <> (select data_dir_id from fence))
      ) as before`
