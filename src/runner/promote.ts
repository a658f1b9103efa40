import { sql } from 'kysely'
import type { Home } from '../db/home.ts'
import { identityIn, isRunner, liveRows } from '../db/processes.ts'
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
 * Throws the unique violation (23505) of the gate's index when somebody else is.
 */
export async function promote(home: Home, me: Registered): Promise<Term> {
  const dead: string[] = []
  for (const row of await liveRows(home)) {
    // The gate and the sweep have proved older runners and all below them dead, those in other containers included.
    const older = isRunner(row) ? row.seq < me.seq && !row.standby : row.runner_id !== null && row.runner_id !== me.id
    if (row.id !== me.id && (older || (identityIn(row) && (await presenceOf(home, row)) === 'gone'))) dead.push(row.id)
  }
  return await home.db.transaction().execute(async (tx) => {
    await sql`set local lock_timeout = '2s'`.execute(tx)
    await sql`
      update process set status = 'lost', ended_at = now()
      where id = any(${dead}::uuid[]) and status in ('starting', 'running', 'draining')`.execute(tx)
    const claims = await requeueClaimsOf(tx, await deadClaimants(tx, home))
    const { rows } = await sql<{ term: number }>`
      insert into runner_term (data_dir_id, term, process_id) values (${home.dataDirId}, 1, ${me.id})
      on conflict (data_dir_id) do update set term = runner_term.term + 1, process_id = excluded.process_id
      returning term`.execute(tx)
    const term = rows[0]!.term
    await sql`update process set worker_type = 'worker_runner', term = ${term}, promoted_at = now() where id = ${me.id} and status = 'running'`.execute(
      tx,
    )
    return { number: term, requeued: claims } as Term
  })
}

/** Every claimant of this data dir whose row is closed: before a promotion, nobody here may hold a claim. */
async function deadClaimants(tx: Home['db'], home: Home): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select p.id from process p
    where p.data_dir_id = ${home.dataDirId} and p.status in ('exited', 'lost')
      and p.id in (select claimed_by from crawl where claimed_by is not null union select claimed_by from snapshot where claimed_by is not null)`.execute(
    tx,
  )
  return rows.map(({ id }) => id)
}
