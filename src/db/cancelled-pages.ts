import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Database } from './database.ts'
import type { Home } from './home.ts'
import { transact } from './retry.ts'
import type { SnapshotTable } from './tables.ts'

// Pages that were sealed before their end. The worker of one may notice late, and the command that sealed it may die
// before its folder is updated, so each is checked for some time, at growing intervals.

/** For how long a page is checked, in seconds. */
const WATCHED_S = 600
const SECOND_LOOK_S = 30

export type CancelledPage = Pick<Selectable<SnapshotTable>, 'id' | 'crawl_id' | 'output_dir' | 'status'> & {
  /** When it was cancelled. */
  readonly at: Date
}

/**
 * Adds pages to those that are checked: cancelled ones, and those whose folders show old tags.
 * @param ids a query for them
 */
export async function watchPages(tx: Database, ids: RawBuilder<unknown>): Promise<void> {
  await sql`
    insert into cancelled_page (snapshot_id) ${ids}
    on conflict (snapshot_id) do update set at = now(), look_at = now()`.execute(tx)
}

/**
 * Those that are due for a check by our node, the earliest first; at most `limit`. A page that nobody has begun is
 * shown where its crawl is worked on.
 */
export async function cancelledPages({ db, dataDirId }: Home, limit: number): Promise<CancelledPage[]> {
  const shownBy = sql`(
    select coalesce(home_node, (select c.home_node from crawl c where c.id = s.crawl_id), ${dataDirId})
    from snapshot s where s.id = snapshot_id)`
  const { rows } = await sql<CancelledPage>`
    with due as materialized (
      select snapshot_id, at, look_at from cancelled_page
      where in_index_order() and look_at <= now() and ${shownBy} = ${dataDirId}
      order by look_at limit ${sql.lit(limit)}
    )
    select page.*, due.at from due cross join lateral (
      select id, crawl_id, output_dir, status from snapshot where id = due.snapshot_id limit 1 -- Page by page: no join.
    ) page
    order by due.look_at`.execute(db)
  return rows
}

/** Schedules the next check of these pages, or none. */
export async function lookAgainLater(db: Database, ids: readonly string[]): Promise<void> {
  await transact(db, async (tx) => {
    // Locked in the common order; rows that are being deleted, or cancelled again, wait for the next round.
    const { rows } = await sql<{ id: string }>`
      select snapshot_id as id from cancelled_page where snapshot_id = any(${ids}::uuid[])
      order by snapshot_id for update skip locked`.execute(tx)
    const ours = rows.map(({ id }) => id)
    const isOver = sql`s.status <> 'sealed' or c.at < now() - make_interval(secs => ${WATCHED_S})`
    await sql`
      delete from cancelled_page c using snapshot s
      where c.snapshot_id = any(${ours}::uuid[]) and s.id = c.snapshot_id and (${isOver})`.execute(tx)
    await sql`
      update cancelled_page set look_at = now() + greatest(now() - at, make_interval(secs => ${SECOND_LOOK_S}))
      where snapshot_id = any(${ours}::uuid[])`.execute(tx)
  })
}
