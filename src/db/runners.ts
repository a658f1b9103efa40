import { sql } from 'kysely'
import type { Home } from './home.ts'

/**
 * Asks runners to hand over: in their rows, for those that no signal reaches, and by a notification.
 * @param reachable those that a signal of ours reaches
 * @param graceSeconds how long we shall wait for them
 * @returns those to send a SIGTERM to: they lead, nobody had asked them before, and they are not leaving already. A
 * signal to one of the others would mean "hurry", or "leave" to one that only waits
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
      select id, handoff_requested_by is null and status = 'running' and worker_type = 'worker_runner'
        and id = any(${reachable}::uuid[]) as signal
      from process where id = any(${runnerIds}::uuid[]) for update
    ), asked as (
      update process set handoff_requested_by = ${by}, handoff_grace_s = ${graceSeconds},
        handoff_signal = handoff_signal or before.signal
      from before where process.id = before.id returning before.id, before.signal
    )
    select id, signal, pg_notify('archivebox_runner', '') from asked`.execute(home.db)
  return rows.filter(({ signal }) => signal).map(({ id }) => id)
}

/** Has a newer runner, whose row is open, asked this one for the lead? */
export async function isHandoffRequested({ db }: Home, id: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from process
    where id = (select handoff_requested_by from process where id = ${id}) and ended_at is null`.execute(db)
  return rows.length > 0
}

/** Takes back the hand-over request of a runner that is gone. */
export async function withdrawHandoff({ db }: Home, id: string, askedBy: string): Promise<void> {
  await sql`
    update process set handoff_requested_by = null, handoff_grace_s = null, handoff_signal = false
    where id = ${id} and handoff_requested_by = ${askedBy}`.execute(db)
}

/**
 * The last leader in a place (boot and PID namespace) that ended unseen, when somebody has led elsewhere since: that
 * one closed its row without being able to see what it had left running. Whoever leads in the same place sees to it.
 */
export async function lostLeaderIn(
  home: Home,
  place: { readonly bootId: string; readonly pidNamespace: string },
): Promise<string | undefined> {
  const isHere = sql`boot_id = ${place.bootId} and pid_namespace = ${place.pidNamespace}`
  const { rows } = await sql<{ id: string }>`
    select id from process
    where data_dir_id = ${home.dataDirId} and worker_type = 'worker_runner' and status = 'lost' and ${isHere}
      and not (select ${isHere} from process
        where id = (select process_id from runner_term where data_dir_id = ${home.dataDirId}))
    order by term desc limit 1`.execute(home.db)
  return rows[0]?.id
}

/** Ends database sessions that processes of a dead runner left behind: a statement of theirs may still be under way. */
export async function terminateBackendsOf(home: Home, runnerIds: readonly string[]): Promise<void> {
  if (runnerIds.length === 0) return
  await sql`
    select pg_terminate_backend(pid, 2000) from pg_stat_activity
    where pid <> pg_backend_pid() and application_name like 'archivebox-ts %'
      and split_part(application_name, ' ', 3) = any(${runnerIds}::text[])`.execute(home.db)
}
