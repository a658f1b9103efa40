import { sql } from 'kysely'
import { CLAIMANTS } from './claimed-tables.ts'
import type { Database } from './database.ts'
import type { Home } from './home.ts'
import { byIndex } from './lists/by-index.ts'
import type { Machine } from './machines.ts'
import type { ProcessIdentity } from './process-identity.ts'
import { withRetry } from './retry.ts'

// Rows of the table `process` that belong to runners: their place in the queue, and their requests to each other.

/** A runner's row, and its place in the order of registrations: a higher one is newer. */
export interface Place {
  readonly id: string
  readonly seq: number
}

/** What a command sees that comes while a runner leads: the schema, its own machine's row, and the leader. */
export interface SeenLead {
  readonly version: number
  readonly machineId: string
  readonly leader: ProcessIdentity
}

/** The lead of a data dir, seen from a machine that has a row; undefined: there is none. */
export async function seenLead(
  db: Database,
  dataDirId: string,
  { guid, hostname }: Pick<Machine, 'guid' | 'hostname'>,
): Promise<SeenLead | undefined> {
  const { rows } = await sql<ProcessIdentity & { version: number; machineId: string }>`
    select (select max(version) from schema_migration) as version, machine.id as "machineId",
           boot_id as "bootId", pid_namespace as "pidNamespace", pid, start_ticks as "startTicks"
    from process, machine
    where data_dir_id = ${dataDirId} and worker_type = 'worker_runner' and status in ('running', 'draining')
      and machine.guid = ${guid} and machine.hostname = ${hostname}`.execute(db)
  const [row] = rows
  if (!row) return undefined
  const { version, machineId, ...leader } = row
  return { version, machineId, leader }
}

/**
 * A waiting runner goes to the gate: from here on newer runners see it, and it sees older ones. Earlier requests to it
 * are over.
 * @param asNewest it takes a new place in the queue
 * @returns its place; the former one when its row is closed, which its heartbeat notices
 */
export async function goToGate({ db }: Home, me: Place, asNewest: boolean): Promise<Place> {
  const update = sql<{ seq: number }>`
    update process
    set standby = false, handoff_requested_by = null, handoff_grace_s = null, handoff_signal = false
        ${asNewest ? sql`, seq = default` : sql``}
    where id = ${me.id} and status = 'running' returning seq`
  const { rows } = await withRetry(db, () => update.execute(db))
  return { id: me.id, seq: rows[0]?.seq ?? me.seq }
}

/**
 * After a lead that ended in order, or an attempt at one: from now on the runner only stands by, and one that waits for
 * its end may stop waiting.
 * @param leaves it only waits until the newer one leads: that it was superseded stays in its row
 * @returns whether a SIGTERM of the newer runner follows, or has come; undefined when the row was closed meanwhile,
 * since somebody took the runner for dead
 */
export async function demote(
  { db }: Home,
  id: string,
  leaves = false,
): Promise<{ readonly handoffSignal: boolean } | undefined> {
  return await withRetry(db, async (again) => {
    const { rows } = await sql<{ handoffSignal: boolean }>`
      with before as (
        select id, handoff_signal from process where id = ${id} and status in ('running', 'draining') for update)
      update process
      set status = 'running', worker_type = 'runner_waiting', standby = true,
          handoff_requested_by = ${leaves ? sql`handoff_requested_by` : null}, handoff_grace_s = null,
          handoff_signal = false
      from before where process.id = before.id
      returning before.handoff_signal as "handoffSignal"`.execute(db)
    // An answer that was lost may have been yes.
    const handoffSignal = again || rows[0]?.handoffSignal === true
    return rows[0] && { handoffSignal }
  })
}

/**
 * Asks runners to hand over: in their rows, for those that no signal reaches, and by a notification.
 * @param reachable those that a signal of ours reaches
 * @param graceSeconds how long we will wait for them
 * @returns those to send a SIGTERM to: they lead, nobody has asked or signalled them before, and they are not exiting
 *   already. To the others a signal would mean "hurry", or "exit" to one that only waits
 */
export async function requestHandoff(
  home: Home,
  by: string,
  runnerIds: readonly string[],
  reachable: readonly string[],
  graceSeconds: number,
): Promise<string[]> {
  const { rows } = await sql<{ id: string; signal: boolean }>`
    with before as (
      select id, handoff_requested_by is null and not handoff_signal and status = 'running'
                 and worker_type = 'worker_runner' and id = any(${reachable}::uuid[]) as signal
      from process where id = any(${runnerIds}::uuid[]) for update
    ), asked as (
      update process
      set handoff_requested_by = ${by}, handoff_grace_s = ${graceSeconds},
          handoff_signal = handoff_signal or before.signal
      from before where process.id = before.id returning before.id, before.signal
    )
    select id, signal, pg_notify('archivebox_runner', '') from asked`.execute(home.db)
  return rows.filter(({ signal }) => signal).map(({ id }) => id)
}

/** Whether a newer runner, whose row is open, has asked this one for the lead. */
export async function isHandoffRequested({ db }: Home, id: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from process
    where id = (select handoff_requested_by from process where id = ${id}) and ended_at is null`.execute(db)
  return rows.length > 0
}

/** Whether a newer runner has led since this one last led, or registered, and exited with 0. */
export async function hasSuccessor(home: Home, id: string): Promise<boolean> {
  const select = sql`
    select 1 from process me join process newer on newer.data_dir_id = me.data_dir_id and newer.seq > me.seq
    where me.id = ${id} and newer.promoted_at > coalesce(me.promoted_at, me.started_at) and newer.status = 'exited'
      and newer.exit_code = 0`
  const { rows } = await withRetry(home.db, () => select.execute(home.db))
  return rows.length > 0
}

/**
 * Withdraws the hand-over request of a runner that is gone.
 * @param isSignalled its signal has come, and must still be distinguished from a user's
 */
export async function withdrawHandoff(
  { db }: Home,
  id: string,
  { askedBy, isSignalled }: { readonly askedBy: string; readonly isSignalled: boolean },
): Promise<void> {
  await sql`
    update process
    set handoff_requested_by = null, handoff_grace_s = null, handoff_signal = handoff_signal and ${isSignalled}
    where id = ${id} and handoff_requested_by = ${askedBy}`.execute(db)
}

/**
 * What each leader was started under that a newer runner superseded in the last minutes.
 * @param beforeSeconds only those that had ended this long ago
 */
export async function supersededLately(
  home: Home,
  { minutes, beforeSeconds }: { readonly minutes: number; readonly beforeSeconds: number },
): Promise<string[][]> {
  const select = sql<{ started_under: string[] }>`
    select started_under from process
    where data_dir_id = ${home.dataDirId} and promoted_at is not null and handoff_requested_by is not null
      and ended_at between now() - make_interval(mins => ${minutes})
        and now() - make_interval(secs => ${beforeSeconds})`
  const { rows } = await withRetry(home.db, () => select.execute(home.db))
  return rows.map(({ started_under }) => started_under)
}

/** Closes the rows of dead processes whose end nobody saw. */
export async function closeAsLost(tx: Database, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`
    update process set status = 'lost', ended_at = now()
    where id = any(${ids}::uuid[]) and status in ('starting', 'running', 'draining')`.execute(tx)
}

/**
 * Every dead process of this data dir that still holds a claim: a promotion leaves none. Found from the claims, which
 * are few.
 * @param dying those whose rows are about to be closed
 */
export async function deadClaimants(home: Home, dying: readonly string[]): Promise<string[]> {
  const select = sql<{ id: string }>`
    select p.id from process p
    where p.id = any(array(${CLAIMANTS}))
      and p.data_dir_id = ${home.dataDirId}
      and (p.status in ('exited', 'lost') or p.id = any(${dying}::uuid[]))`
  const { rows } = await byIndex(home.db, (tx) => select.execute(tx))
  return rows.map(({ id }) => id)
}

/** Ends database sessions of dead runners' processes: one of their statements may still be running. */
export async function terminateBackendsOf(home: Pick<Home, 'db'>, runnerIds: readonly string[]): Promise<void> {
  if (runnerIds.length === 0) return
  await sql`
    select pg_terminate_backend(pid, 2000) from pg_stat_activity
    where pid <> pg_backend_pid() and application_name like 'archivebox-ts %'
      and split_part(application_name, ' ', 3) = any(${runnerIds}::text[])`.execute(home.db)
}
