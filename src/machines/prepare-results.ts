import { sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import { RELAXED } from '../db/relaxed.ts'
import { withRetry } from '../db/retry.ts'
import { ClaimLost } from '../engine/queue.ts'
import { confirmSnapshot, type Owner, type SnapshotClaim } from './queues.ts'
import { owned, type ResultRow } from './results.ts'
import { snapshotMachine } from './snapshot.ts'

/**
 * Begins the work on a page: it becomes `started`, every hook gets a result row, results left `started` by a dead owner
 * are queued, and those in `backoff` get another attempt. Throws ClaimLost.
 * @param firstIn the process in which the first hook is about to run; on a page without earlier work, that result is
 *   `started` at once
 * @returns the current attempts; final ones are not run again
 */
export async function prepareResults(
  owner: Owner,
  claim: SnapshotClaim,
  hooks: readonly { plugin: string; name: string }[],
  firstIn?: string,
): Promise<ResultRow[]> {
  const by = owner.processId
  const prepare = sql<ResultRow>`
    with ${owned(owner, claim)}, begun as (
      update snapshot set status = ${snapshotMachine.states.queued.on.start}, status_changed_at = now(),
        modified_at = now(), moved_by = ${claim.token}
      from mine where snapshot.id = mine.id and mine.status = 'queued'
      returning snapshot.id
    ), begun_logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select 'snapshot', id, 'queued', ${snapshotMachine.states.queued.on.start}, 'start', ${by} from begun
    ), there as materialized (
      select r.id, r.plugin, r.hook_name, r.status, r.output_str, r.attempt, r.retries,
             r.output_files <> '{}' as has_files, r.end_ts,
             r.status = 'started' and r.process_id is distinct from ${firstIn ?? null}::uuid as is_left
      from archive_result r where r.snapshot_id = ${claim.id} and exists (select from mine)
    ), interrupted as (
      update archive_result set status = 'queued', start_ts = null, process_id = null
      where id = any(array(select id from there where is_left)) and status = 'started'
      returning id, plugin, hook_name, 'queued' as status, output_str, attempt, retries
    ), logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select 'archive_result', id, 'started', 'queued', 'interrupt', ${by} from interrupted
    ), lapsed as (
      update archive_result set status = 'failed', end_ts = now()
      where id = any(array(select id from there where status = 'backoff')) and status = 'backoff'
      returning id, plugin, hook_name, attempt, retries
    ), also_logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select 'archive_result', id, 'backoff', 'failed', 'fail', ${by} from lapsed
    ), fresh as (
      insert into archive_result (id, snapshot_id, plugin, hook_name, attempt, retries, status, process_id, start_ts)
      select hook.id, mine.id, hook.plugin, hook.name, coalesce(lapsed.attempt, 0) + 1, coalesce(lapsed.retries + 1, 0),
             case when runs then 'started' else 'queued' end, case when runs then ${firstIn ?? null}::uuid end,
             case when runs then now() end
      from mine
      cross join unnest(${hooks.map(() => uuidv7())}::uuid[], ${hooks.map(({ plugin }) => plugin)}::text[],
        ${hooks.map(({ name }) => name)}::text[])
        with ordinality as hook (id, plugin, name, place)
      cross join lateral (
        select place = 1 and ${firstIn !== undefined}::boolean and not exists (select from there) as runs
      ) first
      left join lapsed on lapsed.plugin = hook.plugin and lapsed.hook_name = hook.name
      where lapsed.id is not null
        or not exists (select from there where there.plugin = hook.plugin and there.hook_name = hook.name)
      returning id, plugin, hook_name, status, output_str, attempt, retries
    ), started_logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select 'archive_result', id, 'queued', 'started', 'start', ${by} from fresh where status = 'started'
    )
    select results.*, ${claim.isOnDisk ? RELAXED : sql`null`} from (
      select *, false as has_files, null::timestamptz as end_ts from fresh
      union all select *, false, null from interrupted
      union all select id, plugin, hook_name, status, output_str, attempt, retries, has_files, end_ts from there
        where not is_left
    ) results
    order by attempt`
  const { rows } = await withRetry(owner.home.db, () => prepare.execute(owner.home.db))
  const current = new Map(rows.map((row) => [`${row.plugin}/${row.hook_name}`, row]))
  if (current.size === 0) await confirmSnapshot(owner, claim)
  return [...current.values()]
}

/**
 * Adds the results of hooks that turn out to apply while the page is worked on. Throws ClaimLost.
 * @param hooks those without a result
 */
export async function addResults(
  owner: Owner,
  claim: SnapshotClaim,
  hooks: readonly { plugin: string; name: string }[],
): Promise<ResultRow[]> {
  const columns = sql`id, plugin, hook_name, status, output_str, attempt, retries, false as has_files, end_ts`
  const add = (again: boolean) => sql<ResultRow>`
    with ${owned(owner, claim)}, added as (
      insert into archive_result (id, snapshot_id, plugin, hook_name, attempt, retries, status)
      select hook.id, mine.id, hook.plugin, hook.name, 1, 0, 'queued'
      from mine
      cross join unnest(${hooks.map(() => uuidv7())}::uuid[], ${hooks.map(({ plugin }) => plugin)}::text[],
        ${hooks.map(({ name }) => name)}::text[]) as hook (id, plugin, name)
      where not exists (
        select from archive_result r
        where r.snapshot_id = mine.id and r.plugin = hook.plugin and r.hook_name = hook.name)
      returning ${columns}
    )
    select * from added
    union all -- Ours, from before an answer was lost.
    select ${columns} from archive_result
    where ${again} and snapshot_id = (select id from mine) and (plugin, hook_name) in (
      select * from unnest(${hooks.map(({ plugin }) => plugin)}::text[], ${hooks.map(({ name }) => name)}::text[]))`
  const { rows } = await withRetry(owner.home.db, (again) => add(again).execute(owner.home.db))
  if (rows.length < hooks.length) throw new ClaimLost(`snapshot ${claim.id} was taken away`)
  return rows
}
