import { sql } from 'kysely'
import pc from 'picocolors'
import { sleep } from '../base/abort.ts'
import { byIndex } from '../db/by-index.ts'
import type { Home } from '../db/home.ts'
import { terminal } from './terminal.ts'

export interface Counts {
  readonly sealed: number
  readonly started: number
  readonly queued: number
  readonly failed: number
  /** There may be more failures than were looked at. */
  readonly moreFailed: boolean
}

/** Failures that are looked at, the latest: a line on a terminal asks for them several times a second. */
const FAILURES = 1_000

/** How far the pages are: of one crawl, or of every crawl that is not sealed. */
export async function countPages({ db }: Home, crawlId: string | undefined): Promise<Counts> {
  const within = crawlId
    ? sql`crawl_id = ${crawlId}`
    : sql`crawl_id in (select id from crawl where status in ('queued', 'started'))`
  // Whatever belongs to a crawl was made after it, and ids are made in the order of time.
  const since = crawlId ? sql`and id > ${crawlId}` : sql``
  const counts = sql<Counts>`
    with failure as materialized (
      select * from archive_result where status = 'failed' ${since} order by id desc limit ${sql.lit(FAILURES)}
    ), page as (
      select coalesce(sum(pages) filter (where status = 'sealed'), 0) as sealed,
             coalesce(sum(pages) filter (where status = 'started'), 0) as started,
             coalesce(sum(pages) filter (where status = 'queued'), 0) as queued
      from crawl_pages where ${within}
    )
    select page.*, (select count(*) from failure) = ${sql.lit(FAILURES)} as "moreFailed",
           (select count(*) from failure r where (select ${within} from snapshot where id = r.snapshot_id) and not exists (
              select from archive_result later where later.snapshot_id = r.snapshot_id and later.plugin = r.plugin
                and later.hook_name = r.hook_name and later.attempt > r.attempt)) as failed
    from page`
  const { rows } = await byIndex(db, (tx) => counts.execute(tx))
  return rows[0]!
}

export function countsText({ sealed, started, queued, failed, moreFailed }: Counts): string {
  const total = sealed + started + queued
  if (total === 0) return pc.dim('waiting (Ctrl-C to stop)')
  const failures = failed > 0 ? pc.yellow(`, ${failed}${moreFailed ? ' or more' : ''} hooks failed`) : ''
  return `${pc.bold(`${sealed} of ${total}`)} pages archived, ${started} in work${failures}`
}

/** Keeps the terminal's foot line true while a runner works. */
export function liveCounts(home: Home, crawlId: string | undefined): { end(): void } {
  const over = new AbortController()
  const refresh = async () => {
    while (!over.signal.aborted) {
      const counts = await countPages(home, crawlId).catch(() => undefined)
      if (counts && !over.signal.aborted) terminal.live(countsText(counts))
      await sleep(500, over.signal)
    }
    terminal.live('')
  }
  void refresh()
  return {
    end: () => {
      over.abort()
      terminal.live('')
    },
  }
}
