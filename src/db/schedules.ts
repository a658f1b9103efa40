import { type Selectable, sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { Recurrence } from '../base/recurrence.ts'
import type { Database } from './database.ts'
import { withRetry } from './retry.ts'
import type { ScheduledCrawl, ScheduleTable, WorkStatus } from './tables.ts'

export type ScheduleRow = Selectable<ScheduleTable>

export interface NewSchedule extends Recurrence {
  /** As typed. */
  readonly every: string
  readonly urls: readonly string[]
  readonly crawl: ScheduledCrawl
  readonly nextAt: Date
}

/** Adds a schedule; the insert wakes the leader. */
export async function insertSchedule(
  db: Database,
  { urls, crawl, nextAt, ...rest }: NewSchedule,
): Promise<ScheduleRow> {
  const id = uuidv7()
  const insert = db
    .insertInto('schedule')
    .values({
      id,
      ...rest,
      urls: urls.join('\n'),
      crawl: JSON.stringify(crawl),
      next_at: nextAt,
      retry_at: nextAt,
    })
    .onConflict((row) => row.column('id').doUpdateSet({ id })) // Our own row, when an answer was lost.
    .returningAll()
  return await withRetry(db, () => insert.executeTakeFirstOrThrow())
}

export type ListedSchedule = ScheduleRow & { readonly last_crawl_id: string | null }

/** The schedules with these ids, or all; the one that is due first at the top, paused ones at the end. */
export async function listSchedules(db: Database, ids?: readonly string[]): Promise<ListedSchedule[]> {
  const { rows } = await sql<ListedSchedule>`
    select s.*, (select c.id from crawl c where c.schedule_id = s.id order by c.due_at desc limit 1) as last_crawl_id
    from schedule s where ${ids === undefined ? sql`true` : sql`s.id = any(${ids}::uuid[])`}
    order by s.status, s.next_at, s.id`.execute(db)
  return rows
}

/**
 * A part of all schedules, in the same order.
 * @param below the schedule after which it begins. @returns undefined when that one is gone
 */
export async function schedulesBelow(
  db: Database,
  { below, limit }: { readonly below: string | undefined; readonly limit: number },
): Promise<ListedSchedule[] | undefined> {
  const { rows } = await sql<ListedSchedule>`
    select s.*, (select c.id from crawl c where c.schedule_id = s.id order by c.due_at desc limit 1) as last_crawl_id
    from (
      select * from schedule
      where ${
        below === undefined
          ? sql`true`
          : sql`(status, next_at, id) >= (
        select status, next_at, id from schedule where id = ${below})`
      }
      order by status, next_at, id limit ${below === undefined ? limit : limit + 1}
    ) s order by s.status, s.next_at, s.id`.execute(db)
  if (below === undefined) return rows
  return rows[0]?.id === below ? rows.slice(1) : undefined
}

/** How many schedules there are. */
export async function countSchedules(db: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from schedule`.execute(db)
  return rows[0]!.count
}

/** Locks these schedules for the rest of the transaction. */
export async function lockSchedules(tx: Database, ids: readonly string[]): Promise<ScheduleRow[]> {
  const { rows } = await sql<ScheduleRow>`
    select * from schedule where id = any(${ids}::uuid[]) order by id for no key update`.execute(tx)
  return rows
}

/** Deletes schedules; their crawls stay. @returns those that were there */
export async function deleteSchedules(db: Database, ids: readonly string[]): Promise<string[]> {
  const rows = await db
    .deleteFrom('schedule')
    .where('id', 'in', [...ids])
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** A crawl of a schedule. */
export interface CrawlOfSchedule {
  readonly id: string
  readonly status: WorkStatus
  readonly due_at: Date
}

/** A crawl of this schedule that is not sealed, and the one of this due moment, if there are any. */
export async function crawlsInTheWay(tx: Database, id: string, dueAt: Date): Promise<CrawlOfSchedule[]> {
  const { rows } = await sql<CrawlOfSchedule>`
    with open as (
      select id, status, due_at from crawl
      where schedule_id = ${id} and status in ('queued', 'started', 'paused') limit 1
    )
    select * from open union all
    select id, status, due_at from crawl
    where schedule_id = ${id} and due_at = ${dueAt} and status = 'sealed'`.execute(tx)
  return rows
}

/** For `status`: how many schedules there are, and the one that is due next. */
export async function scheduleFacts(db: Database) {
  const { rows } = await sql<{ status: ScheduleRow['status']; count: number }>`
    select status, count(*) as count from schedule group by status`.execute(db)
  const { rows: next } = await sql<{ id: string; next_at: Date; timezone: string; what: string }>`
    select id, next_at, timezone, coalesce(nullif(crawl->>'label', ''), split_part(urls, e'\\n', 1)) as what
    from schedule where status = 'active' order by next_at limit 1`.execute(db)
  const countOf = (wanted: string) => rows.find(({ status }) => status === wanted)?.count ?? 0
  return { active: countOf('active'), paused: countOf('paused'), next: next[0] ?? null }
}

/** How long until the first schedule must be checked, in milliseconds; undefined without any. */
export async function msUntilDue(db: Database): Promise<number | undefined> {
  const { rows } = await sql<{ ms: number | null }>`
    select (extract(epoch from min(retry_at) - now()) * 1000)::float8 as ms
    from schedule where status in ('active')`.execute(db)
  return rows[0]!.ms ?? undefined
}

/** The database's clock. */
export async function databaseNow(db: Database): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select now() as now`.execute(db)
  return rows[0]!.now
}
