import { type RawBuilder, sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import { RELAXED } from '../db/relaxed.ts'
import { withRetry } from '../db/retry.ts'
import { ClaimLost } from '../engine/queue.ts'
import { archiveResultMachine } from './archive-result.ts'
import { bornRows, movedRows } from './moved.ts'
import { confirmSnapshot, type Owner, type SnapshotClaim } from './queues.ts'
import { beginning, owned, type ResultRow } from './results.ts'

/** A hook whose result is begun. */
export interface HookToRun {
  readonly plugin: string
  readonly name: string
  /** The id that its first result is to have; a new one if that does not matter. */
  readonly id?: string
}

/**
 * Begins the work on a page: it becomes `started`, our node its home, every hook gets a result row, results left
 * `started` by a dead owner are queued, and those in `backoff` get another attempt. Throws ClaimLost.
 * @param late hooks that get a row only when they have one in `backoff`
 * @param firstIn the process in which the first hook is about to run; on a page without earlier work, that result is
 *   `started` at once
 * @param begun when the page was begun, by `performance.now()`
 * @returns the current attempts; final ones are not run again
 */
export async function prepareResults(
  owner: Owner,
  claim: SnapshotClaim,
  hooks: readonly HookToRun[],
  late: readonly HookToRun[] = [],
  firstIn?: string,
  begun = performance.now(),
): Promise<ResultRow[]> {
  const by = sql`${owner.processId}::uuid`
  const prepare = () => sql<ResultRow>`
    with ${owned(owner, claim)}, ${beginning(owner, claim, begun)}, there as materialized (
      select r.id, r.plugin, r.hook_name, r.status, r.output_str, r.attempt, r.retries,
             r.output_files <> '{}' as has_files, r.end_ts,
             r.status = 'started' and r.process_id is distinct from ${firstIn ?? null}::uuid as is_left
      from archive_result r where r.snapshot_id = ${claim.id} and exists (select from mine)
    ), ${leftBehind(by)}, ${freshResults(hooks, late, firstIn, by)}
    select results.*, ${claim.isOnDisk ? RELAXED : sql`null`} from (
      select id, plugin, hook_name, status, output_str, attempt, retries, false as has_files,
        null::timestamptz as end_ts from fresh
      union all select id, plugin, hook_name, status, output_str, attempt, retries, false, null from interrupted
      union all select id, plugin, hook_name, status, output_str, attempt, retries, has_files, end_ts from there
        where not is_left
    ) results
    order by attempt`
  const { rows } = await withRetry(owner.home.db, () => prepare().execute(owner.home.db))
  const current = new Map(rows.map((row) => [`${row.plugin}/${row.hook_name}`, row]))
  if (current.size === 0) await confirmSnapshot(owner, claim)
  return [...current.values()]
}

const COLUMNS = 'work.plugin, work.hook_name, work.status, work.output_str, work.attempt, work.retries'

/** `interrupted` and `lapsed`: those of `there` that a dead owner left `started`, and those in `backoff`. */
const leftBehind = (by: RawBuilder<unknown>) =>
  sql`${movedRows(archiveResultMachine, {
    as: 'interrupted',
    rows: 'array(select id from there where is_left)',
    from: ['started'],
    event: 'interrupt',
    holder: 'mine',
    by,
    returning: COLUMNS,
  })}, ${movedRows(archiveResultMachine, {
    as: 'lapsed',
    rows: "array(select id from there where status = 'backoff')",
    from: ['backoff'],
    event: 'fail',
    holder: 'mine',
    by,
    returning: COLUMNS,
  })}`

/** `fresh`: a row for each hook that has none, and another one for each that lapsed. */
function freshResults(
  hooks: readonly HookToRun[],
  late: readonly HookToRun[],
  firstIn: string | undefined,
  by: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const all = [...hooks, ...late]
  return bornRows(archiveResultMachine, {
    as: 'fresh',
    columns: {
      id: 'hook.id',
      snapshot_id: 'mine.id',
      plugin: 'hook.plugin',
      hook_name: 'hook.name',
      attempt: 'coalesce(lapsed.attempt, 0) + 1',
      retries: 'coalesce(lapsed.retries + 1, 0)',
      process_id: sql`case when runs then ${firstIn ?? null}::uuid end`,
      start_ts: 'case when runs then now() end',
    },
    state: 'started',
    when: 'runs',
    event: { name: 'start', by },
    source: sql`mine
      cross join unnest(${all.map(({ id }) => id ?? uuidv7())}::uuid[], ${all.map(({ plugin }) => plugin)}::text[],
        ${all.map(({ name }) => name)}::text[])
        with ordinality as hook (id, plugin, name, place)
      cross join lateral (
        select place = 1 and ${firstIn !== undefined}::boolean and not exists (select from there) as runs
      ) first
      left join lapsed on lapsed.plugin = hook.plugin and lapsed.hook_name = hook.name
      where lapsed.id is not null
        or place <= ${hooks.length}::int
          and not exists (select from there where there.plugin = hook.plugin and there.hook_name = hook.name)`,
    returning: COLUMNS,
  })
}

/**
 * Adds the results of hooks that turn out to apply while the page is worked on. Throws ClaimLost.
 * @param hooks those without a result
 */
export async function addResults(
  owner: Owner,
  claim: SnapshotClaim,
  hooks: readonly HookToRun[],
): Promise<ResultRow[]> {
  const columns = sql`id, plugin, hook_name, status, output_str, attempt, retries, false as has_files, end_ts`
  const add = (again: boolean) => sql<ResultRow>`
    with ${owned(owner, claim)}, added as (
      insert into archive_result (id, snapshot_id, plugin, hook_name, attempt, retries)
      select hook.id, mine.id, hook.plugin, hook.name, 1, 0
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
