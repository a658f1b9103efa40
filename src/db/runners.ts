import { sql } from 'kysely'
import type { Home } from './home.ts'

/** Asks runners to hand over: in their rows, for those that no signal reaches, and by a notification. */
export async function requestHandoff(home: Home, by: string, runnerIds: readonly string[]): Promise<void> {
  await sql`
    with asked as (update process set handoff_requested_by = ${by} where id = any(${runnerIds}::uuid[]) returning 1)
    select pg_notify('archivebox_runner', '') from asked`.execute(home.db)
}

/** Ends database sessions that processes of a dead runner left behind: a statement of theirs may still be under way. */
export async function terminateBackendsOf(home: Home, runnerIds: readonly string[]): Promise<void> {
  if (runnerIds.length === 0) return
  await sql`
    select pg_terminate_backend(pid, 2000) from pg_stat_activity
    where pid <> pg_backend_pid() and application_name like 'archivebox-ts %'
      and split_part(application_name, ' ', 3) = any(${runnerIds}::text[])`.execute(home.db)
}
