import { type RawBuilder, sql } from 'kysely'
import type { Home } from '../db/home.ts'
import { type LiveState, type Machine, workStates } from './define.ts'

/** Seconds a claim holds without a renewal (ArchiveBox's ACTIVE_STATE_LEASE_SECONDS). */
export const LEASE_SECONDS = 60
/** How often an owner renews what it holds: three times per lease, so that two renewals may fail. */
export const RENEW_MS = 20_000

/** Who claims: a process of ours, in the term of the runner that it works for. */
export interface Owner {
  readonly home: Home
  readonly processId: string
  readonly term: number
}

declare const claimed: unique symbol

/** The right to work on one row. Only `claimDue` mints one, so a row that was not claimed cannot be written. */
export interface Claimed<M extends Machine, S extends LiveState<M> = LiveState<M>> {
  readonly machine: M
  readonly id: string
  readonly state: S
  readonly token: string
  /** Claims of this row that did not end in a release, this one included: above 1, an earlier owner died at it. */
  readonly attempts: number
  /** Who let the lease run out, if anybody: it may still be alive, and must be ended before the work begins again. */
  readonly expiredOwner: string | null
  readonly [claimed]: M
}

/** Zero rows matched a guarded write: somebody else owns the row by now. The worker drops it and writes nothing more. */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost'
}

/**
 * Claims up to `limit` due rows (`retry_at` <= now, in a working state), oldest first, by moving `retry_at` one lease into the future.
 * One statement: the row locks decide between claimers, the shared lock on the term row lets no older term slip past a promotion.
 * A future `retry_at` is never touched. All times are the database's.
 * @param where a further condition on the row, which is called `work` in it
 */
export async function claimDue<M extends Machine>(
  owner: Owner,
  machine: M,
  limit: number,
  where: RawBuilder<unknown> = sql`true`,
): Promise<Claimed<M>[]> {
  const { rows } = await sql<{ id: string; status: string; claim_token: string; attempts: number; expired_owner: string | null }>`
    with fence as (
      select term from runner_term
      where machine_id = ${owner.home.machineId} and data_dir = ${owner.home.dataDir} and term = ${owner.term}
      for share
    ), due as materialized ( -- materialized: the limit must not be applied again when a locked row is re-read
      select work.id, work.claimed_by as expired_owner from ${sql.table(machine.table)} as work, fence
      where work.status in (${sql.join(workStates(machine).map((state) => sql.lit(state)))}) and work.retry_at <= now() and ${where}
      order by work.retry_at, work.id
      limit ${limit}
      for no key update of work skip locked
    )
    update ${sql.table(machine.table)} as work
    set retry_at = now() + make_interval(secs => ${LEASE_SECONDS}), claim_token = gen_random_uuid(), claimed_by = ${owner.processId},
        attempts = work.attempts + 1, modified_at = now()
    from due where work.id = due.id
    returning work.id, work.status, work.claim_token, work.attempts, due.expired_owner`.execute(owner.home.db)
  return rows.map(
    (row) =>
      ({
        machine,
        id: row.id,
        state: row.status,
        token: row.claim_token,
        attempts: row.attempts,
        expiredOwner: row.expired_owner,
      }) as unknown as Claimed<M>,
  )
}

/** Renews a claim for another lease. Throws ClaimLost. */
export async function renewClaim<M extends Machine>(owner: Owner, claim: Claimed<M>): Promise<void> {
  const { numAffectedRows } = await sql`
    update ${sql.table(claim.machine.table)} set retry_at = now() + make_interval(secs => ${LEASE_SECONDS})
    where id = ${claim.id} and claim_token = ${claim.token}`.execute(owner.home.db)
  if (numAffectedRows !== 1n) throw new ClaimLost(`${claim.machine.name} ${claim.id}`)
}

/** Gives a row back unfinished and without blame, due again after `delayMs`. A claim that is already lost is none of our business. */
export async function releaseClaim<M extends Machine>(owner: Owner, claim: Claimed<M>, delayMs = 0): Promise<void> {
  await sql`
    update ${sql.table(claim.machine.table)}
    set retry_at = now() + make_interval(secs => ${delayMs / 1000}), claim_token = null, claimed_by = null,
        attempts = greatest(attempts - 1, 0), modified_at = now()
    where id = ${claim.id} and claim_token = ${claim.token}`.execute(owner.home.db)
}

/** Gives a row back after a failure that was not its handler's word: the attempt counts, and it is due again after `delayMs`. */
export async function delayClaim<M extends Machine>(owner: Owner, claim: Claimed<M>, delayMs: number): Promise<void> {
  await sql`
    update ${sql.table(claim.machine.table)}
    set retry_at = now() + make_interval(secs => ${delayMs / 1000}), claim_token = null, claimed_by = null, modified_at = now()
    where id = ${claim.id} and claim_token = ${claim.token}`.execute(owner.home.db)
}

/**
 * Makes due again what these processes had claimed. Only for owners that the operating system has proved dead:
 * this is the one way in which a future `retry_at` is taken from its owner.
 * @returns how many rows
 */
export async function requeueClaimsOf(
  home: Pick<Home, 'db'>,
  machines: readonly Machine[],
  deadProcessIds: readonly string[],
): Promise<number> {
  if (deadProcessIds.length === 0) return 0
  let requeued = 0n
  for (const machine of machines) {
    const { numAffectedRows } = await sql`
      update ${sql.table(machine.table)} set retry_at = now(), claim_token = null, claimed_by = null, modified_at = now()
      where claimed_by = any(${deadProcessIds}::uuid[])`.execute(home.db)
    requeued += numAffectedRows ?? 0n
  }
  return Number(requeued)
}
