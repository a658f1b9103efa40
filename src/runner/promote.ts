import { knownTerm, noteTerm } from '../base/term-file.ts'
import type { Home } from '../db/home.ts'
import { identityIn, isRunner, type LiveRow } from '../db/processes.ts'
import { transact } from '../db/retry.ts'
import { closeAsLost, deadClaimants, type Place } from '../db/runners.ts'
import { limitLockWaits, raiseTerm, termSince } from '../db/terms.ts'
import { requeueClaimsOf } from '../machines/queues.ts'
import { presenceOf } from '../processes/presence.ts'
import type { Reaped } from './reap-older.ts'

declare const promoted: unique symbol

/** One leadership. Only `promote` makes one, so nobody can lead without. */
export interface Term {
  /** The fencing token: each promotion of this data dir has a higher one. */
  readonly number: number
  readonly requeued: number
  /** How many earlier terms the database knows nothing of: it was restored to an older state. */
  readonly unknown: number
  readonly [promoted]: true
}

/**
 * One transaction: closes the rows of the dead, makes what they had claimed due again, raises the term, and makes us
 * the one active runner. Throws the unique violation (23505) of the gate's index when somebody else is.
 * @param reaped the rows that are open, and those of them that stay so
 * @param stopped no term is raised once we are told to stop
 * @returns undefined when our own row was closed or deleted: no row, no lead, and the term stays as it was; and when
 * we were told to stop
 */
export async function promote(
  home: Home,
  me: Place,
  { open: rows, stuck }: Reaped,
  stopped: AbortSignal,
): Promise<Term | undefined> {
  const before = rows.find(({ id }) => id === me.id)?.term ?? null
  const known = knownTerm(home.dataDir, home.dataDirId)
  const dead: string[] = []
  for (const row of rows) if (row.id !== me.id && !stuck.has(row.id) && (await isDead(home, me, row))) dead.push(row.id)
  const promotion = transact(home.db, async (tx, again) => {
    const term = again ? await termSince(tx, me.id, before) : undefined
    if (term !== undefined) return { number: term, requeued: 0, unknown: 0 } as Term
    await limitLockWaits(tx)
    const claimants = await deadClaimants({ ...home, db: tx }, dead) // From here on, plans use the indexes.
    const requeued = claimants.length > 0 ? await requeueClaimsOf(tx, claimants) : 0
    await closeAsLost(tx, dead)
    const raised = stopped.aborted ? undefined : await raiseTerm(tx, home.dataDirId, me.id, known)
    if (raised === undefined) throw new NoTerm() // Rolls a raised term back.
    noteTerm(home.dataDir, home.dataDirId, raised.term) // Before it counts: one that nobody leads with is only skipped.
    return { number: raised.term, requeued, unknown: Math.max(0, known - raised.was) } as Term
  })
  return await promotion.catch((error: unknown) => {
    if (error instanceof NoTerm) return undefined
    throw error
  })
}

class NoTerm extends Error {}

/**
 * A runner is dead when the operating system says so, or when it has been silent for longer than it may trust its lead.
 * One that came to the gate since we looked is alive, and exits or stands by when it sees us. Processes below other
 * runners are dead: the gate has proved it, also for other containers.
 */
async function isDead(home: Home, me: Place, row: LiveRow): Promise<boolean> {
  if (!isRunner(row) && row.runner_id !== null && row.runner_id !== me.id) return true
  return (isRunner(row) || identityIn(row) !== null) && (await presenceOf(home, row)) === 'gone'
}
