import { sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import { type Database, kyselySql } from '../db/database.ts'
import { Queue, RETRY_AT_MAX } from '../engine/queue.ts'
import { crawlMachine } from './crawl.ts'
import { skipOpenResults } from './results.ts'
import { snapshotMachine } from './snapshot.ts'

// What people do to crawls: events from outside. Whoever works on a row loses its claim, records nothing more, and ends its hooks when it
// notices, at its next step; whoever claims the row before that ends it first (endFormerWorkers).

/** Pauses crawls and their unfinished snapshots. Returns the crawls that were not paused or sealed already. */
export async function pauseCrawls(db: Database, ids: readonly string[]): Promise<string[]> {
  return await withSnapshots(db, ids, 'pause', RETRY_AT_MAX)
}

/** Puts paused crawls and their paused snapshots back into the queue, due at `when`. Finished hooks stay finished. */
export async function resumeCrawls(db: Database, ids: readonly string[], when: Date = new Date()): Promise<string[]> {
  return await withSnapshots(db, ids, 'resume', when)
}

/** Seals crawls with what they have. Hooks that were not run are skipped. */
export async function cancelCrawls(db: Database, ids: readonly string[]): Promise<string[]> {
  return await db.transaction().execute(async (tx) => {
    const sealed = await withSnapshots(tx, ids, 'seal', null)
    const { rows } = await sql<{ id: string }>`
      select s.id from snapshot s where s.crawl_id = any(${sealed}::uuid[])
        and exists (select 1 from archive_result r where r.snapshot_id = s.id and r.status in ('queued', 'started', 'backoff'))`.execute(tx)
    for (const { id } of rows) await skipOpenResults(tx, id, 'cancelled')
    return sealed
  })
}

/**
 * Queues another attempt of hooks that ended without an output; the earlier attempts stay as they are. The hashes are taken again, too.
 * The one way out of a final state: a person asked for it.
 * @param only of these plugins
 * @returns how many hooks of how many pages will be run again
 */
export async function retryCrawls(
  db: Database,
  ids: readonly string[],
  statuses: readonly string[],
  only?: readonly string[],
): Promise<{ hooks: number; snapshots: number }> {
  return await db.transaction().execute(async (tx) => {
    // The crawls first, as everybody does: none of them is sealed meanwhile.
    await sql`select 1 from crawl where id = any(${ids}::uuid[]) order by id for no key update`.execute(tx)
    const { rows } = await sql<{ snapshot_id: string; plugin: string; hook_name: string; attempt: number; status: string }>`
      select distinct on (r.snapshot_id, r.plugin, r.hook_name) r.snapshot_id, r.plugin, r.hook_name, r.attempt, r.status
      from archive_result r join snapshot s on s.id = r.snapshot_id
      where s.crawl_id = any(${ids}::uuid[]) and s.status = 'sealed'
      order by r.snapshot_id, r.plugin, r.hook_name, r.attempt desc`.execute(tx)
    const again = rows.filter((row) => statuses.includes(row.status) && (only === undefined || only.includes(row.plugin)))
    const pages = new Set(again.map((row) => row.snapshot_id))
    const hashes = rows.filter((row) => row.plugin === 'hashes' && pages.has(row.snapshot_id) && !again.includes(row))
    const attempts = [...again, ...hashes]
    await sql`
      insert into archive_result (id, snapshot_id, plugin, hook_name, attempt)
      select * from unnest(${attempts.map(() => uuidv7())}::uuid[], ${attempts.map((row) => row.snapshot_id)}::uuid[],
        ${attempts.map((row) => row.plugin)}::text[], ${attempts.map((row) => row.hook_name)}::text[], ${attempts.map((row) => row.attempt + 1)}::int[])`.execute(
      tx,
    )
    await reopen(tx, 'snapshot', [...pages])
    const crawls = await sql<{ crawl_id: string }>`select distinct crawl_id from snapshot where id = any(${[...pages]}::uuid[])`.execute(tx)
    await reopen(
      tx,
      'crawl',
      crawls.rows.map(({ crawl_id }) => crawl_id),
    )
    await sql`select pg_notify('archivebox_work', '')`.execute(tx)
    return { hooks: again.length, snapshots: pages.size }
  })
}

async function reopen(tx: Database, model: 'crawl' | 'snapshot', ids: readonly string[]): Promise<void> {
  await sql`
    with reopened as (
      update ${sql.table(model)} set status = 'queued', retry_at = now(), attempts = 0, status_changed_at = now(), modified_at = now()
      where id = any(${ids}::uuid[]) and status = 'sealed' returning id
    )
    insert into transition (model, row_id, from_status, to_status, event)
    select ${model}, id, 'sealed', 'queued', 'retry' from reopened`.execute(tx)
}

/** Sends one event to crawls and to those of their snapshots whose state offers it, in one transaction, and wakes the leader. */
async function withSnapshots(
  db: Database,
  ids: readonly string[],
  event: 'pause' | 'resume' | 'seal',
  dueAt: Date | null,
): Promise<string[]> {
  const work = async (tx: Database) => {
    const moved = await new Queue(crawlMachine, kyselySql(tx)).send(ids, event, dueAt)
    const { rows } = await sql<{ id: string }>`
      select id from snapshot where crawl_id = any(${moved}::uuid[]) and status in ('queued', 'started', 'paused')`.execute(tx)
    await new Queue(snapshotMachine, kyselySql(tx)).send(
      rows.map(({ id }) => id),
      event,
      dueAt,
    )
    await sql`select pg_notify('archivebox_work', '')`.execute(tx)
    return moved
  }
  return db.isTransaction ? await work(db) : await db.transaction().execute(work)
}
