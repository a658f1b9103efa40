import { sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import { otherCopies } from '../db/archived-pages.ts'
import type { ResultOfPage } from '../db/results.ts'
import { withRetry } from '../db/retry.ts'
import { tagsOf } from '../db/snapshots.ts'
import type { PublishedFiles, ResultStatus } from '../db/tables.ts'
import { type EventOf, finalStates, type State } from '../engine/machine.ts'
import { ClaimLost } from '../engine/queue.ts'
import { archiveResultMachine } from './archive-result.ts'
import { handingOver, outputSize } from './outputs.ts'
import { confirmSnapshot, type Owner, type SnapshotClaim } from './queues.ts'
import { snapshotMachine } from './snapshot.ts'

type Results = typeof archiveResultMachine

/** The row of one hook's current attempt. */
export interface ResultRow {
  readonly id: string
  readonly plugin: string
  readonly hook_name: string
  readonly status: ResultStatus
  readonly output_str: string
  readonly attempt: number
  /** Earlier attempts that failed temporarily. */
  readonly retries: number
  /** Files are published for it. */
  readonly has_files: boolean
}

/** A change of a result. */
export interface ResultChange {
  readonly result: Pick<ResultRow, 'id' | 'plugin'>
  readonly event: EventOf<Results, 'queued'> | EventOf<Results, 'started'>
  /** The hook's process, or its host. */
  readonly processId?: string | undefined
  readonly output?: string
  readonly json?: unknown
  readonly published?: PublishedFiles | undefined
  /** When the hook began and ended, by `performance.now()`; undefined: now. */
  readonly began?: number
  readonly ended?: number
}

// Results have no claim of their own: the holder of their snapshot's claim writes them, in the current term. Each
// statement locks the snapshot's row while it compares the token, so that nothing is written after a lost claim or
// lead.
const owned = ({ home, term }: Owner, claim: SnapshotClaim) => sql`
  mine as (
    select id, status from snapshot
    where id = ${claim.id} and claim_token = ${claim.token}
      and exists (select from runner_term where data_dir_id = ${home.dataDirId} and term = ${term})
    for no key update
  )`

/**
 * Work that a power cut undoes is repeated by the page's next owner, so of its ends only the commit of the seal waits
 * for the disk, and flushes all earlier ones. When the server alone dies, the worker continues after such a loss: so
 * the seal checks that nothing is missing, and no hook runs before the claim of its page is on disk, by the seal of the
 * page before or by `prepareResults`: a server that had forgotten it would give the page to a second worker while the
 * first works.
 */
const RELAXED = sql`set_config('synchronous_commit', 'off', true)`

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
             r.output_files <> '{}' as has_files,
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
      select *, false as has_files from fresh
      union all select *, false from interrupted
      union all select id, plugin, hook_name, status, output_str, attempt, retries, has_files from there
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
  const add = sql<ResultRow>`
    with ${owned(owner, claim)}
    insert into archive_result (id, snapshot_id, plugin, hook_name, attempt, retries, status)
    select hook.id, mine.id, hook.plugin, hook.name, 1, 0, 'queued'
    from mine
    cross join unnest(${hooks.map(() => uuidv7())}::uuid[], ${hooks.map(({ plugin }) => plugin)}::text[],
      ${hooks.map(({ name }) => name)}::text[]) as hook (id, plugin, name)
    where not exists (
      select from archive_result r
      where r.snapshot_id = mine.id and r.plugin = hook.plugin and r.hook_name = hook.name)
    returning id, plugin, hook_name, status, output_str, attempt, retries, false as has_files`
  const { rows } = await withRetry(owner.home.db, () => add.execute(owner.home.db))
  if (rows.length < hooks.length) throw new ClaimLost(`snapshot ${claim.id} was taken away`)
  return rows
}

/**
 * Moves results of one page along their edges, all or none, guarded by the page's claim and the term. One that is
 * already `started` only gets its new process. No two may be of one plugin. Throws ClaimLost.
 */
export async function writeResults(
  owner: Owner,
  claim: SnapshotClaim,
  changes: readonly ResultChange[],
): Promise<void> {
  const write = (again: boolean) => sql<{ id: string }>`
    with ${owned(owner, claim)}, ended as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(changes.map(asRow))}::jsonb) as e (
        id uuid, plugin text, event text, to_status text, is_final boolean, process_id uuid, output text, json jsonb,
        written jsonb, standing jsonb, began_s float8, ended_s float8
      )
    ), ${handingOver(claim.id)}, open as materialized (
      select r.id, r.status from archive_result r
      where r.id = any(${changes.map(({ result }) => result.id)}::uuid[]) and r.snapshot_id = ${claim.id}
        and r.status in ('queued', 'started') and exists (select from mine)
    ), moved as (
      update archive_result r
      set status = e.to_status,
          start_ts = case when e.to_status = 'queued' then null
                          when e.to_status = 'started' then coalesce(r.start_ts, now())
                          else coalesce(now() - make_interval(secs => e.began_s), r.start_ts, now()) end,
          end_ts = case when e.is_final then now() - make_interval(secs => e.ended_s) end,
          process_id = coalesce(e.process_id, r.process_id),
          output_str = e.output, output_json = e.json,
          -- Without a publication, what an earlier run has published stays.
          output_files = case when e.written is null then r.output_files else own.files end,
          output_size = case when e.written is null then r.output_size else own.size end
      from open, ended e, own
      where r.id = open.id and e.id = open.id and own.id = open.id and r.status = open.status
      returning r.id, open.status as from_status, e.to_status, e.event
    ), logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select 'archive_result', id, from_status, to_status, event, ${owner.processId}
      from moved where from_status <> to_status
    )
    select id, ${RELAXED} from moved
    union -- Ours, from before an answer was lost.
    select r.id, null from archive_result r, mine, ended e
    where ${again} and r.snapshot_id = mine.id and r.id = e.id and r.status = e.to_status`
  const { rows } = await withRetry(owner.home.db, (again) => write(again).execute(owner.home.db))
  const written = new Set(rows.map(({ id }) => id))
  const lost = changes.find(({ result }) => !written.has(result.id))
  if (lost) throw new ClaimLost(`archive_result ${lost.result.id}: ${lost.event}`)
}

/**
 * Queues final results of a page in work, because their hooks must run again; no attempt is counted. What they have
 * published stays theirs until they publish again. Throws ClaimLost.
 * @returns the paths of their files, by plugin
 */
export async function repeatResults(
  owner: Owner,
  claim: SnapshotClaim,
  results: readonly Pick<ResultRow, 'id'>[],
): Promise<Map<string, string[]>> {
  const repeat = sql<{ plugin: string; paths: string[] }>`
    with ${owned(owner, claim)}, final as materialized (
      select r.id, r.plugin, r.status, array(select jsonb_object_keys(r.output_files)) as paths from archive_result r
      where r.id = any(${results.map(({ id }) => id)}::uuid[]) and r.snapshot_id = ${claim.id}
        and exists (select from mine)
    ), queued as (
      update archive_result r set status = 'queued', start_ts = null, end_ts = null, process_id = null
      from final where r.id = final.id and r.status = final.status and r.status <> 'queued'
      returning r.id, final.status as from_status
    ), logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select 'archive_result', id, from_status, 'queued', 'repeat', ${owner.processId} from queued
    )
    select plugin, paths from final`
  const { rows } = await withRetry(owner.home.db, () => repeat.execute(owner.home.db))
  if (rows.length < results.length) throw new ClaimLost(`snapshot ${claim.id}`)
  const byPlugin = Map.groupBy(rows, ({ plugin }) => plugin)
  return new Map([...byPlugin].map(([plugin, of]) => [plugin, of.flatMap(({ paths }) => paths)]))
}

function asRow({ result, event, processId, output, json, published, began, ended }: ResultChange): object {
  const to: State<Results> = { ...STATES.queued.on, ...STATES.started.on, start: 'started' as const }[event]
  const ago = (at: number | undefined) => (at === undefined ? undefined : (performance.now() - at) / 1000)
  return {
    id: result.id,
    plugin: result.plugin,
    event,
    to_status: to,
    is_final: (finalStates(archiveResultMachine) as string[]).includes(to),
    process_id: processId,
    output: (output ?? '').toWellFormed(),
    json: json ?? null,
    written: published?.written,
    standing: published?.standing,
    began_s: ago(began),
    ended_s: ago(ended) ?? 0,
  }
}

const STATES = archiveResultMachine.states

/** A page as its index shows it. */
export interface FinishedPage {
  readonly output_size: number
  /** The database's clock. */
  readonly now: Date
  /** In the order of the hooks. */
  readonly results: readonly ResultOfPage[]
  /** Does or did another copy of its URL exist? */
  readonly isCopied: boolean
  /** Its own, those that its hooks gave it, too. */
  readonly tags: readonly string[]
}

/** A condition on a page, `work`: all its results have ended, and no server has lost that. */
export const ALL_ENDED = `(
        select 1 from archive_result r
        where r.snapshot_id = work.id and r.status in ('queued', 'started', 'backoff') limit 1) is null`

/**
 * Writes what was found on a page whose results are written. Inside a transaction the commit waits for the disk, since
 * nobody would repeat what else it writes. Throws ClaimLost.
 */
export async function finishPage(
  tx: Owner['home']['db'],
  owner: Owner,
  claim: SnapshotClaim,
  title: string | null,
): Promise<FinishedPage> {
  const { rows } = await sql<ResultOfPage & { page_size: number; is_copied: boolean; now: Date; tags: string[] }>`
    with ${owned(owner, claim)}, page as (
      update snapshot set title = ${title}, output_size = ${outputSize(sql`${claim.id}`)}
      from mine where snapshot.id = mine.id
      returning snapshot.id, snapshot.output_size
    )
    select r.*, page.output_size as page_size, ${otherCopies(claim.row)} as is_copied, now(),
      ${tagsOf(sql`${claim.id}::uuid`)} as tags,
      ${tx.isTransaction ? sql`null` : RELAXED}
    from page left join archive_result r on r.snapshot_id = ${claim.id}
    order by hook_name, attempt`.execute(tx)
  if (rows.length === 0) throw new ClaimLost(`snapshot ${claim.id}`)
  const { page_size: output_size, is_copied: isCopied, now, tags } = rows[0]!
  return { output_size, now, results: rows.filter(({ id }) => id !== null), isCopied, tags }
}

/** Skips the open results of a snapshot, in the transaction that seals it. */
export async function skipOpenResults(tx: Owner['home']['db'], snapshotId: string, reason: string): Promise<void> {
  await sql`
    with open as (
      select id, status from archive_result where snapshot_id = ${snapshotId}
        and status in ('queued', 'started', 'backoff') for update
    ), skipped as (
      update archive_result r set status = 'skipped', output_str = ${reason}, start_ts = coalesce(r.start_ts, now()),
        end_ts = now()
      from open where r.id = open.id
      returning r.id, open.status as from_status
    )
    insert into transition (model, row_id, from_status, to_status, event)
    select 'archive_result', id, from_status, 'skipped', 'skip' from skipped`.execute(tx)
}

/** After a lost claim, once our hooks on the snapshot have ended: queues the results that our processes had started. */
export async function forgetStarted(owner: Owner, snapshotId: string): Promise<void> {
  const forget = sql`
    with forgotten as (
      update archive_result set status = 'queued', start_ts = null, process_id = null
      where snapshot_id = ${snapshotId} and status = 'started'
        and process_id in (select id from process where parent_id = ${owner.processId})
      returning id
    )
    insert into transition (model, row_id, from_status, to_status, event, process_id)
    select 'archive_result', id, 'started', 'queued', 'interrupt', ${owner.processId} from forgotten`
  await withRetry(owner.home.db, () => forget.execute(owner.home.db))
}
