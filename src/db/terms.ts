import { sql } from 'kysely'
import type { Database } from './database.ts'
import type { Home } from './home.ts'

// The table `runner_term`: the fencing token of each data dir, raised by every promotion.

/** Limits lock waits in this transaction to two seconds; then they fail (55P03). */
export async function limitLockWaits(tx: Database): Promise<void> {
  await sql`select set_config('lock_timeout', '2s', true)`.execute(tx)
}

/**
 * Raises the term above the one that we know of, and makes this runner its leader, in one statement. Throws the unique
 * violation (23505) of the gate's index when somebody else leads.
 * @param known the highest that the data dir has led with
 * @returns the term; undefined when the runner's row is closed or deleted: roll back, else a term is raised for nobody
 */
export async function raiseTerm(
  tx: Database,
  dataDirId: string,
  runnerId: string,
  known: number,
): Promise<Raised | undefined> {
  const { rows } = await sql<Raised>`
    with raised as (
      insert into runner_term (data_dir_id, term, process_id) values (${dataDirId}, ${known}::bigint + 1, ${runnerId})
      on conflict (data_dir_id) do update
      set term = greatest(runner_term.term + 1, excluded.term), process_id = excluded.process_id
      returning term)
    update process set worker_type = 'worker_runner', term = raised.term, promoted_at = now() from raised
    where process.id = ${runnerId} and process.status = 'running'
    returning process.term,
      coalesce((select term from runner_term where data_dir_id = ${dataDirId}), 0) as was`.execute(tx)
  return rows[0]
}

/** A term, and the one that the database knew before. */
export interface Raised {
  readonly term: number
  readonly was: number
}

/**
 * The term of this runner's promotion that took effect although its answer was lost; `before` is the one until then.
 */
export async function termSince(tx: Database, runnerId: string, before: number | null): Promise<number | undefined> {
  const { rows } = await sql<{ term: number }>`
    select t.term from runner_term t join process p on p.id = t.process_id and p.term = t.term
    where p.id = ${runnerId} and p.status = 'running' and p.term is distinct from ${before}::bigint`.execute(tx)
  return rows[0]?.term
}

/**
 * The last leader in a place (boot and PID namespace) that ended unseen, if somebody has led elsewhere since: that one
 * closed its row without being able to see what it had left running. The next leader in the same place takes care of
 * it.
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
