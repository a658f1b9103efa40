import { type RawBuilder, sql } from 'kysely'
import { byIndex } from './by-index.ts'
import type { Database } from './database.ts'
import type { Model } from './listings.ts'

/** The running hooks, by the ids of their processes. */
export async function hooksAtWork(db: Database): Promise<Map<string, string>> {
  const { rows } = await sql<{ process_id: string; hook_name: string }>`
    select process_id, hook_name from archive_result where status = 'started' and process_id is not null`.execute(db)
  return new Map(rows.map(({ process_id, hook_name }) => [process_id, hook_name]))
}

/** What a deletion removes: pages, their results, and the bytes of these. */
export interface Below {
  readonly snapshots: number
  readonly results: number
  readonly bytes: number
}

/** The pages and results that are deleted with these rows. */
export async function countBelow(db: Database, noun: Model['noun'], ids: readonly string[]): Promise<Below> {
  const count = sql<Below>`
    select count(distinct s.id) as snapshots, count(r.id) as results, coalesce(sum(r.output_size), 0) as bytes
    from snapshot s left join archive_result r on r.snapshot_id = s.id
    where ${ID_OF[noun]} = any(${ids}::uuid[])`
  const { rows } = await byIndex(db, (tx) => count.execute(tx))
  return rows[0]!
}

const ID_OF: Readonly<Record<Model['noun'], RawBuilder<unknown>>> = {
  crawl: sql`s.crawl_id`,
  snapshot: sql`s.id`,
  result: sql`r.id`,
}
