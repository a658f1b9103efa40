import { sql } from 'kysely'
import type { Home } from '../db/home.ts'
import { identityIn, isRunner, type LiveRow, liveRows } from '../db/processes.ts'
import { transact } from '../db/retry.ts'
import { requeueClaimsOf } from '../machines/queues.ts'
import { presenceOf } from '../processes/presence.ts'
import type { Registered } from './registration.ts'

declare const promoted: unique symbol

/** One leadership. Only `promote` makes one, so nobody can lead without. */
export interface Term {
  /** The fencing token: each promotion of this data dir has a higher one. */
  readonly number: number
  readonly requeued: number
  readonly [promoted]: true
}

/**
 * One transaction: closes the rows of the dead, makes due again what they had claimed, raises the term, and makes us the one active runner.
 * @returns undefined when our own row was closed or deleted: no row, no lead, and the term stays as it was
 * Throws the unique violation (23505) of the gate's index when somebody else is.
 */
export async function promote(home: Home, me: Registered): Promise<Term | undefined> {
  const rows = await liveRows(home)
  const before = rows.find(({ id }) => id === me.id)?.term ?? null
  const dead: string[] = []
  for (const row of rows) if (row.id !== me.id && (await isDead(home, me, row))) dead.push(row.id)
  const claimants = await deadClaimants(home, dead)
  const promotion = transact(home.db, async (tx, again) => {
    const term = again ? await termSince(tx, me, before) : undefined
    if (term !== undefined) return { number: term, requeued: 0 } as Term
    await sql`set local lock_timeout = '2s'`.execute(tx)
    const requeued = claimants.length > 0 ? await requeueClaimsOf(tx, claimants) : 0
    if (dead.length > 0) {
      await sql`
        update process set status = 'lost', ended_at = now()
        where id = any(${dead}::uuid[]) and status in ('starting', 'running', 'draining')`.execute(tx)
    }
    const { rows } = await sql<{ term: number }>`
      with raised as (
        insert into runner_term (data_dir_id, term, process_id) values (${home.dataDirId}, 1, ${me.id})
        on conflict (data_dir_id) do update set term = runner_term.term + 1, process_id = excluded.process_id
        returning term)
      update process set worker_type = 'worker_runner', term = raised.term, promoted_at = now() from raised
      where process.id = ${me.id} and process.status = 'running'
      returning process.term`.execute(tx)
    if (!rows[0]) throw new NoRow() // Takes the raised term back.
    return { number: rows[0].term, requeued } as Term
  })
  return await promotion.catch((error: unknown) => {
    if (error instanceof NoRow) return undefined
    throw error
  })
}

class NoRow extends Error {}

/**
 * Of a runner only the operating system says so, or a silence beyond what it may trust: one that came to the gate since we looked is alive,
 * and leaves or stands by when it sees us. Of what is below other runners the gate and the sweep have proved it, in other containers, too.
 */
async function isDead(home: Home, me: Registered, row: LiveRow): Promise<boolean> {
  if (!isRunner(row) && row.runner_id !== null && row.runner_id !== me.id) return true
  return (isRunner(row) || identityIn(row) !== null) && (await presenceOf(home, row)) === 'gone'
}

/** The term of a promotion of ours that took effect, though its answer was lost. */
async function termSince(tx: Home['db'], me: Registered, before: number | null): Promise<number | undefined> {
  const { rows } = await sql<{ term: number }>`
    select t.term from runner_term t join process p on p.id = t.process_id and p.term = t.term
    where p.id = ${me.id} and p.status = 'running' and p.term is distinct from ${before}::bigint`.execute(tx)
  return rows[0]?.term
}

/** Every dead claimant of this data dir: before a promotion, nobody here may hold a claim. Found from the claims, which are few. */
async function deadClaimants(home: Home, dying: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select p.id from process p
    where p.id = any(array(select claimed_by from crawl where claimed_by is not null
        union select claimed_by from snapshot where claimed_by is not null
        union select claimed_by from "binary" where claimed_by is not null))
      and p.data_dir_id = ${home.dataDirId} and (p.status in ('exited', 'lost') or p.id = any(${dying}::uuid[]))`.execute(
    home.db,
  )
  return rows.map(({ id }) => id)
}
