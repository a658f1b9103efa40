import { sql } from 'kysely'
import pc from 'picocolors'
import { sleep } from '../base/abort.ts'
import type { Home } from '../db/home.ts'
import { terminal } from './terminal.ts'

export interface Counts {
  readonly sealed: number
  readonly started: number
  readonly queued: number
  readonly failed: number
}

/** How far the pages are: of one crawl, or of every crawl that is not sealed. */
export async function countPages(home: Home, crawlId: string | undefined): Promise<Counts> {
  const scope = crawlId ? sql`s.crawl_id = ${crawlId}` : sql`s.crawl_id in (select id from crawl where status in ('queued', 'started'))`
  const { rows } = await sql<Counts>`
    select count(*) filter (where s.status = 'sealed') as sealed, count(*) filter (where s.status = 'started') as started,
           count(*) filter (where s.status = 'queued') as queued,
           (select count(*) from latest_result r join snapshot s on s.id = r.snapshot_id where r.status = 'failed' and ${scope}) as failed
    from snapshot s where ${scope}`.execute(home.db)
  return rows[0]!
}

export function countsText({ sealed, started, queued, failed }: Counts): string {
  const total = sealed + started + queued
  if (total === 0) return pc.dim('waiting (Ctrl-C to stop)')
  return `${pc.bold(`${sealed} of ${total}`)} pages archived, ${started} in work${failed > 0 ? pc.yellow(`, ${failed} hooks failed`) : ''}`
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
