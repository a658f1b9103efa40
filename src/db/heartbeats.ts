import { sql } from 'kysely'
import type { Database } from './database.ts'
import type { Home } from './home.ts'
import type { ProcessIdentity } from './process-identity.ts'
import type { ProcessRow } from './processes.ts'

// The heartbeats by which runners know of each other. Their intervals depend on each other: a runner stops trusting its
// lead before any other may take it for dead.

/** How often a runner writes its heartbeat. */
export const BEAT_MS = 5_000

/**
 * How long a leader trusts its lead without an answer from the database, from before the query; suspended time counts.
 * A leader that was silent for longer has stopped all work, or will when it resumes.
 */
export const TRUST_MS = 25_000

/**
 * A process that cannot be seen from here counts as alive while its heartbeat is this fresh, by the database's clock.
 */
export const UNSEEN_SECONDS = 30

/**
 * How long after the question whether a page is ours we act on the answer: no runner elsewhere may lead sooner after
 * the end of our leader's trust.
 */
export const CONFIRMED_MS = UNSEEN_SECONDS * 1_000 - TRUST_MS

/** What a leader learns from its heartbeat. */
export interface Beat {
  /** The newer runner that asked for the lead, and how long it waits at most, from when it asked. */
  readonly askedBy: string | null
  readonly handoffGraceMs: number
  /** One that asked has sent a SIGTERM, or is about to. */
  readonly isSignalled: boolean
}

/**
 * Writes the leader's heartbeat, who it is (in case somebody has changed that), and what keeps it from starting work.
 * Null: its row is closed or another term has begun, so it no longer leads.
 */
export async function heartbeat(
  home: Home,
  id: string,
  me: ProcessIdentity,
  blockedReason: string | null,
): Promise<Beat | null> {
  const { rows } = await sql<Pick<ProcessRow, 'handoff_requested_by' | 'handoff_grace_s' | 'handoff_signal'>>`
    update process
    set heartbeat_at = now(), blocked_reason = ${blockedReason},
        boot_id = ${me.bootId}, pid_namespace = ${me.pidNamespace}, pid = ${me.pid}, start_ticks = ${me.startTicks}
    where id = ${id} and status in ('running', 'draining')
      and term = (select term from runner_term where data_dir_id = ${home.dataDirId})
    returning handoff_requested_by, handoff_grace_s, handoff_signal`.execute(home.db)
  const [row] = rows
  if (!row) return null
  return {
    askedBy: row.handoff_requested_by,
    handoffGraceMs: (row.handoff_grace_s ?? 0) * 1_000,
    isSignalled: row.handoff_signal,
  }
}

/**
 * Sets heartbeats that lie in the future to now. Since the clock was set back, they would count as fresh until it has
 * caught up; this way whoever does not go on writing them falls silent as always.
 */
export async function settleHeartbeats(db: Database): Promise<void> {
  await sql`
    update process set heartbeat_at = now()
    where status in ('starting', 'running', 'draining')
      and heartbeat_at > now() + make_interval(secs => ${UNSEEN_SECONDS})`.execute(db)
}

/** Writes heartbeats until the returned function is called; others notice when the database is away. */
export function heartbeatWhileWaiting(db: Database, id: string): () => void {
  const timer = setInterval(() => void sayThere(db, id).catch(() => {}), BEAT_MS).unref()
  return () => clearInterval(timer)
}

/** Writes the heartbeat of a process that does not lead, and whom it waits for. False: its row is closed or deleted. */
export async function sayThere(db: Database, id: string, blockedReason: string | null = null): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update process set heartbeat_at = now(), blocked_reason = ${blockedReason}
    where id = ${id} and status = 'running'`.execute(db)
  return numAffectedRows === 1n
}
