import { sql } from 'kysely'
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
