import { join } from 'node:path'
import { type RawBuilder, sql } from 'kysely'
import { watchPages } from '../db/cancelled-pages.ts'
import { type Database, kyselySql } from '../db/database.ts'
import type { Home } from '../db/home.ts'
import { meaningsIn } from '../db/meanings.ts'
import { transact } from '../db/retry.ts'
import { HAS_OPEN_RESULTS } from '../db/snapshots.ts'
import { Queue, RETRY_AT_MAX } from '../engine/queue.ts'
import { crawlMachine } from './crawl.ts'
import { skipOpenResults } from './finish-page.ts'
import { judge, recordVerdicts } from './judge.ts'
import { idsOf, wokenRows } from './moved.ts'
import { outputSize } from './outputs.ts'
import { snapshotMachine } from './snapshot.ts'
import { titleIn } from './title-in.ts'
import { CANCELLED } from './verdict.ts'

type RowsAndFiles = Pick<Home, 'db' | 'dataDir'>

type Event = 'pause' | 'resume' | 'seal'

// Commands of users on crawls and snapshots: events from outside. The worker of such a row loses its claim, records
// nothing more, and ends its hooks when it notices, at its next step; a new owner of the row ends it first
// (endFormerWorkers).

/** Pauses crawls and their unfinished snapshots. @returns the crawls that were not already paused or sealed */
export async function pauseCrawls(db: Database, ids: readonly string[]): Promise<string[]> {
  return (await sendToCrawls(db, ids, 'pause', RETRY_AT_MAX)).crawls
}

/** Queues paused crawls and their paused snapshots again, due at `when`. Finished hooks stay finished. */
export async function resumeCrawls(db: Database, ids: readonly string[], when: Date = new Date()): Promise<string[]> {
  return (await sendToCrawls(db, ids, 'resume', when)).crawls
}

/** Seals crawls with what they have. Hooks that have not run are skipped. */
export async function cancelCrawls({ db, dataDir }: RowsAndFiles, ids: readonly string[]): Promise<string[]> {
  return await transact(db, async (tx) => {
    const { crawls, snapshots } = await sendToCrawls(tx, ids, 'seal', null)
    await watchPages(tx, sql`select unnest(${snapshots}::uuid[])`)
    await closePages(tx, dataDir, snapshots)
    return crawls
  })
}

/** Pauses snapshots; their crawl continues with the others. @returns those that were not already paused or sealed */
export async function pauseSnapshots(db: Database, ids: readonly string[]): Promise<string[]> {
  return await sendToSnapshots(db, ids, 'pause', RETRY_AT_MAX)
}

/**
 * Queues paused snapshots again, due at `when`; those of a paused crawl wait for the crawl. Finished hooks stay
 * finished.
 */
export async function resumeSnapshots(
  db: Database,
  ids: readonly string[],
  when: Date = new Date(),
): Promise<string[]> {
  return await sendToSnapshots(db, ids, 'resume', when)
}

/** Seals snapshots with what they have. Hooks that have not run are skipped. */
export async function cancelSnapshots({ db, dataDir }: RowsAndFiles, ids: readonly string[]): Promise<string[]> {
  return await transact(db, async (tx) => {
    const sealed = await sendToSnapshots(tx, ids, 'seal', null)
    await watchPages(tx, sql`select unnest(${sealed}::uuid[])`)
    await closePages(tx, dataDir, sealed)
    return sealed
  })
}

/**
 * Locks crawls for the rest of the transaction. Every change of snapshots from outside begins with this, so that their
 * crawl is not sealed or released as idle meanwhile.
 */
export async function lockCrawls(tx: Database, where: RawBuilder<unknown>): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from crawl where ${where} order by id for no key update`.execute(
    tx,
  )
  return rows.map(({ id }) => id)
}

/** The same for the crawls of these snapshots. */
export async function lockCrawlsOf(tx: Database, snapshotIds: readonly string[]): Promise<string[]> {
  return await lockCrawls(
    tx,
    sql`id = any(array(select crawl_id from snapshot where id = any(${snapshotIds}::uuid[])))`,
  )
}

/** Makes started crawls due that no worker has: with only paused snapshots left, a crawl waits for a change. */
export async function wakeCrawls(tx: Database, ids: readonly string[]): Promise<void> {
  await sql`
    with ${wokenRows(crawlMachine, { as: 'woken', rows: idsOf(ids), states: ['started'] })}
    select pg_notify('archivebox_work', '')`.execute(tx)
}

/** Pages per statement: one second on a slow machine, far below the statement timeout. */
const SLICE = 5_000

function* slices(ids: readonly string[]): Generator<string[]> {
  for (let at = 0; at < ids.length; at += SLICE) yield ids.slice(at, at + SLICE)
}

/**
 * Sends an event to crawls and to those of their snapshots that offer it, and wakes the leader.
 * @returns the crawls that it moved
 */
async function sendToCrawls(
  db: Database,
  ids: readonly string[],
  event: Event,
  dueAt: Date | null,
): Promise<{ crawls: string[]; snapshots: string[] }> {
  return await transact(db, async (tx) => {
    const crawls = await new Queue(crawlMachine, kyselySql(tx)).send(ids, event, dueAt)
    const { rows } = await sql<{ id: string }>`
      select id from snapshot where crawl_id = any(${crawls}::uuid[])
        and status in ('queued', 'started', 'paused')`.execute(tx)
    const pages = new Queue(snapshotMachine, kyselySql(tx))
    const snapshots: string[] = []
    for (const part of slices(rows.map(({ id }) => id)))
      for (const id of await pages.send(part, event, dueAt)) snapshots.push(id)
    await sql`select pg_notify('archivebox_work', '')`.execute(tx)
    return { crawls, snapshots }
  })
}

/** Sends an event to snapshots, and makes their crawls due. */
async function sendToSnapshots(
  db: Database,
  ids: readonly string[],
  event: Event,
  dueAt: Date | null,
): Promise<string[]> {
  return await transact(db, async (tx) => {
    const crawls = await lockCrawlsOf(tx, ids)
    const moved = await new Queue(snapshotMachine, kyselySql(tx)).send(ids, event, dueAt)
    await wakeCrawls(tx, crawls)
    return moved
  })
}

/** Completes pages that were just sealed, as their workers would: skips the open results, sums sizes, judges. */
async function closePages(tx: Database, dataDir: string, ids: readonly string[]): Promise<void> {
  const meanings = await meaningsIn(tx)
  for (const part of slices(ids)) {
    const { rows } = await sql<{ id: string; output_dir: string; is_open: boolean }>`
      select s.id, s.output_dir, ${HAS_OPEN_RESULTS} as is_open
      from snapshot s where s.id = any(${part}::uuid[])
        and exists (select from archive_result r where r.snapshot_id = s.id)`.execute(tx)
    const open = rows.filter((row) => row.is_open).map(({ id }) => id)
    for (const id of open) await skipOpenResults(tx, id, CANCELLED)
    const titles = rows.map((row) => titleIn(join(dataDir, row.output_dir), meanings))
    await sql`
      update snapshot s set output_size = ${outputSize(sql`s.id`)}, title = coalesce(v.title, s.title)
      from unnest(${rows.map(({ id }) => id)}::uuid[], ${titles}::text[]) as v (id, title)
      where s.id = v.id`.execute(tx)
    await recordVerdicts(tx, await judge(tx, dataDir, rows))
    // Pages that were never started, of which there may be a million.
    await sql`
      update snapshot s set outcome = 'failed', cause = ${CANCELLED}
      where s.id = any(${part}::uuid[]) and s.outcome is null`.execute(tx)
  }
}
