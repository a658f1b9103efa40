import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Database } from './database.ts'
import { byIndex } from './lists/by-index.ts'
import type { Model } from './lists/listings.ts'
import { withRetry } from './retry.ts'
import type { ArchiveResultTable } from './tables.ts'

export type ResultOfPage = Selectable<ArchiveResultTable>

/** Every attempt of every hook of a page, in order of the hooks' names. */
export async function resultsOfPage(db: Database, snapshotId: string): Promise<ResultOfPage[]> {
  const select = db
    .selectFrom('archive_result')
    .selectAll()
    .where('snapshot_id', '=', snapshotId)
    .orderBy('hook_name')
    .orderBy('attempt')
  return await withRetry(db, () => select.execute())
}

/** The same, at most as many as requested. */
export async function firstResultsOfPage(db: Database, snapshotId: string, limit: number): Promise<ResultOfPage[]> {
  const select = sql<ResultOfPage>`
    select * from archive_result where snapshot_id = ${snapshotId}
    order by snapshot_id, plugin, hook_name, attempt limit ${limit}`
  return (await byIndex(db, (tx) => select.execute(tx))).rows.sort((a, b) =>
    a.hook_name < b.hook_name ? -1 : a.hook_name > b.hook_name ? 1 : a.attempt - b.attempt,
  )
}

/** How many attempts a page has, counted up to a limit. */
export async function countResults(db: Database, snapshotId: string, limit: number): Promise<number> {
  const count = sql<{ count: number }>`
    select count(*) as count from (
      select from archive_result where snapshot_id = ${snapshotId}
      order by snapshot_id, plugin, hook_name, attempt limit ${limit}) counted`
  return (await byIndex(db, (tx) => count.execute(tx))).rows[0]!.count
}

/** The part of a result that a verdict needs. */
export interface LatestResult
  extends Pick<ResultOfPage, 'plugin' | 'hook_name' | 'status' | 'output_str' | 'output_json'> {
  readonly snapshot_id: string
  /** Whether any of its files are in place. */
  readonly has_files: boolean
}

/** The latest attempt of each hook of these pages. */
export async function latestResults(db: Database, snapshotIds: readonly string[]): Promise<LatestResult[]> {
  const { rows } = await sql<LatestResult>`
    select distinct on (snapshot_id, plugin, hook_name) snapshot_id, plugin, hook_name, status, output_str, output_json,
      output_files <> '{}' as has_files
    from archive_result where snapshot_id = any(${snapshotIds}::uuid[])
    order by snapshot_id, plugin, hook_name, attempt desc`.execute(db)
  return rows
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
