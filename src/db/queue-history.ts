import { sql } from 'kysely'
import type { Database } from './database.ts'

// The table `queue_sample`: how many pages waited, as noted by leaders. History, which is trimmed.

/** Notes how many pages are open now, unless that was noted within the last minute. */
export async function noteQueue(db: Database): Promise<void> {
  await sql`
    insert into queue_sample (at, open)
    select now(), coalesce(sum(rows), 0)
    from row_count where model = 'snapshot' and status in ('queued', 'started', 'paused')
    having not exists (select from queue_sample where at > now() - interval '55 s')
    on conflict do nothing`.execute(db)
}

/**
 * The most pages that waited in each part of the last hours; null where nobody led.
 * @param parts how many; the last one ends now
 */
export async function queueHistory(db: Database, hours: number, parts: number): Promise<(number | null)[]> {
  const seconds = hours * 3_600
  const { rows } = await sql<{ part: number; open: number }>`
    select max(open) as open,
      least(${parts}::int - 1, floor(extract(epoch from now() - at) / ${seconds}::int * ${parts}::int))::int as part
    from queue_sample where at > now() - make_interval(secs => ${seconds}::int) group by 2`.execute(db)
  const most = new Map(rows.map(({ part, open }) => [part, open]))
  return Array.from({ length: parts }, (_none, at) => most.get(parts - 1 - at) ?? null)
}

/** Deletes what is older than `days`. */
export async function deleteOldSamples(db: Database, days: number): Promise<void> {
  await sql`delete from queue_sample where at < now() - make_interval(days => ${days})`.execute(db)
}
