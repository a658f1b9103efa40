import { sql } from 'kysely'
import type { Database } from './database.ts'
import { transact, withRetry } from './retry.ts'

/** A page that is about to be begun. */
export interface Applicant {
  readonly host: string
  readonly snapshotId: string
  /** Its claim: when that is over, its place is free. */
  readonly token: string
}

export interface HostLimits {
  /** Pages of a host that are worked on at once; 0: no limit. */
  readonly atOnce: number
  /** From the beginning of one page to that of the next, in milliseconds. */
  readonly delayMs: number
}

/** Granted: the page may begin in `ms`. Otherwise it must ask again then. */
export interface Turn {
  readonly granted: boolean
  readonly ms: number
}

/** A page that may begin within this time waits with its worker; for another one the worker does not wait. */
const PATIENCE_MS = 2_000
/** Turns are promised at most this far ahead: a page that was promised one may never come. */
const HORIZON_MS = 60_000
/** While all places of a host are taken, a page asks again after this time. */
const ASKED_EVERY_MS = 250
/** The longest HOST_DELAY. */
const LONGEST_DELAY_MS = 3_600_000
/** The longest that a host may ask us to stay away. */
const LONGEST_BLOCK_MS = 86_400_000

/**
 * Asks for the turn of a page at its host, whose row is locked: all machines come here. Turns are a delay apart. A page
 * that cannot begin soon is promised the next turn, or told when to come back; these times are a delay apart, too, so
 * that few ask at once, however many wait.
 */
export async function takeTurn(db: Database, page: Applicant, { atOnce, delayMs }: HostLimits): Promise<Turn> {
  return await transact(db, async (tx) => {
    const step = Math.max(delayMs, ASKED_EVERY_MS)
    const row = await lockHost(tx, page.host)
    const now = row.now.getTime()
    const blocked = row.blocked_until?.getTime() ?? 0
    const next = Math.max(now, row.next_at.getTime(), blocked)
    const { promised, begun } = await turnsOf(tx, page)
    const at = promised === null ? next : Math.max(now, promised.getTime(), blocked)
    if ((atOnce === 0 || begun < atOnce) && at - now <= PATIENCE_MS) {
      await keepTurn(tx, page, new Date(at), page.token)
      if (promised === null) await moveNext(tx, page.host, new Date(at + delayMs))
      return { granted: true, ms: at - now }
    }
    if (next - now < HORIZON_MS) {
      await keepTurn(tx, page, new Date(next), null)
      await moveNext(tx, page.host, new Date(next + step))
      return { granted: false, ms: Math.max(next - now, step) }
    }
    const later = Math.max(row.later_at.getTime(), next)
    await sql`update host set later_at = ${new Date(later + step)} where host = ${page.host}`.execute(tx)
    return { granted: false, ms: later - now }
  })
}

/** No page of this host is begun for `ms`, or for a day if that is less, because it refused one. */
export async function blockHost(db: Database, host: string, ms: number): Promise<void> {
  const until = after(Math.min(ms, LONGEST_BLOCK_MS))
  await withRetry(db, () =>
    sql`
      insert into host (host, blocked_until) values (${host}, ${until})
      on conflict (host) do update set blocked_until = greatest(host.blocked_until, excluded.blocked_until)`.execute(
      db,
    ),
  )
}

interface HostRow {
  readonly now: Date
  readonly next_at: Date
  readonly later_at: Date
  readonly blocked_until: Date | null
}

/** Times that are further ahead than any is set were set by a clock that was set back since. */
async function lockHost(tx: Database, host: string): Promise<HostRow> {
  const furthest = after(HORIZON_MS + LONGEST_DELAY_MS)
  const { rows } = await sql<HostRow & { is_new: boolean }>`
    insert into host (host) values (${host})
    on conflict (host) do update set
      next_at = least(host.next_at, ${furthest}),
      later_at = case when host.next_at > ${furthest} then ${furthest} else host.later_at end,
      blocked_until = case when host.blocked_until is not null
        then least(host.blocked_until, ${after(LONGEST_BLOCK_MS)}) end
    returning clock_timestamp() as now, next_at, later_at, blocked_until, xmax = 0 as is_new`.execute(tx)
  if (rows[0]!.is_new) await forgetIdle(tx)
  return rows[0]!
}

const after = (ms: number) => sql`clock_timestamp() + make_interval(secs => ${ms / 1000})`

/** With each new host a few are forgotten that had no requests for a day. */
async function forgetIdle(tx: Database): Promise<void> {
  await sql`
    delete from host where host = any(array(
      select host from host where next_at < now() - interval '1 day' and coalesce(blocked_until < now(), true)
      order by next_at limit 10 for update skip locked))`.execute(tx)
}

/** The turn that this page was promised, and how many others of its host are being worked on. */
async function turnsOf(
  tx: Database,
  { host, snapshotId }: Applicant,
): Promise<{ readonly promised: Date | null; readonly begun: number }> {
  const { rows } = await sql<{ promised: Date | null; begun: number }>`
    with begun as (
      select t.snapshot_id, s.claim_token is not distinct from t.token as holds
      from host_turn t join snapshot s on s.id = t.snapshot_id
      where t.host = ${host} and t.token is not null and t.snapshot_id <> ${snapshotId}
    ), over as (
      delete from host_turn where snapshot_id = any(array(select snapshot_id from begun where not holds))
    )
    select (select count(*) from begun where holds) as begun,
      (select starts_at from host_turn
       where snapshot_id = ${snapshotId} and host = ${host} and token is null) as promised`.execute(tx)
  return rows[0]!
}

async function keepTurn(tx: Database, { host, snapshotId }: Applicant, at: Date, token: string | null): Promise<void> {
  await sql`
    insert into host_turn (snapshot_id, host, starts_at, token) values (${snapshotId}, ${host}, ${at}, ${token})
    on conflict (snapshot_id) do update
      set host = excluded.host, starts_at = excluded.starts_at, token = excluded.token`.execute(tx)
}

/** A host that nobody waits for now has nobody that waits for later either. */
async function moveNext(tx: Database, host: string, next: Date): Promise<void> {
  await sql`
    update host set later_at = case when next_at < now() then now() else later_at end, next_at = ${next}
    where host = ${host}`.execute(tx)
}
