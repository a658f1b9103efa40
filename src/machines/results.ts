import { sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import { withRetry } from '../db/retry.ts'
import type { PublishedFiles, ResultStatus } from '../db/tables.ts'
import { type EventOf, finalStates, type LiveState, type State } from '../engine/machine.ts'
import { ClaimLost } from '../engine/queue.ts'
import { archiveResultMachine } from './archive-result.ts'
import { handingOver } from './outputs.ts'
import type { Owner, SnapshotClaim } from './queues.ts'

type Results = typeof archiveResultMachine

/** The row of one hook's current attempt. */
export interface ResultRow {
  readonly id: string
  readonly plugin: string
  readonly hook_name: string
  readonly status: ResultStatus
  readonly output_str: string
  readonly attempt: number
  /** Attempts before this one that failed in a way that may pass. */
  readonly retries: number
}

export interface ResultOutput {
  readonly output: string
  readonly json?: unknown
  readonly published?: PublishedFiles
}

// Results have no claim of their own: whoever holds their snapshot's claim writes them. Each statement locks the snapshot's row while it
// compares the token, so that a lost claim writes nothing.
const owned = (claim: SnapshotClaim) => sql`
  mine as (select id from snapshot where id = ${claim.id} and claim_token = ${claim.token} for no key update)`

/**
 * Makes sure that every hook has a result row, that none is left `started` by a dead owner, and that whatever backed off has another attempt.
 * Returns the current attempts: the final ones are done and will not be run again. Throws ClaimLost.
 */
export async function prepareResults(
  owner: Owner,
  claim: SnapshotClaim,
  hooks: readonly { plugin: string; name: string }[],
): Promise<ResultRow[]> {
  const prepare = sql<ResultRow>`
    with ${owned(claim)}, interrupted as (
      update archive_result set status = 'queued', start_ts = null, process_id = null from mine
      where snapshot_id = mine.id and status = 'started'
      returning archive_result.id, plugin, hook_name, 'queued' as status, output_str, attempt, retries
    ), logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select 'archive_result', id, 'started', 'queued', 'interrupt', ${owner.processId} from interrupted
    ), lapsed as (
      update archive_result set status = 'failed', end_ts = now() from mine
      where snapshot_id = mine.id and status = 'backoff'
      returning archive_result.id, plugin, hook_name, attempt, retries
    ), also_logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select 'archive_result', id, 'backoff', 'failed', 'fail', ${owner.processId} from lapsed
    ), fresh as (
      insert into archive_result (id, snapshot_id, plugin, hook_name, attempt, retries)
      select hook.id, mine.id, hook.plugin, hook.name, coalesce(lapsed.attempt, 0) + 1, coalesce(lapsed.retries + 1, 0)
      from mine cross join unnest(${hooks.map(() => uuidv7())}::uuid[], ${hooks.map(({ plugin }) => plugin)}::text[], ${hooks.map(({ name }) => name)}::text[]) as hook (id, plugin, name)
      left join lapsed on lapsed.plugin = hook.plugin and lapsed.hook_name = hook.name
      where lapsed.id is not null or not exists (select 1 from archive_result r where r.snapshot_id = ${claim.id} and r.plugin = hook.plugin and r.hook_name = hook.name)
      returning id, plugin, hook_name, status, output_str, attempt, retries
    )
    select * from fresh
    union all select * from interrupted
    union all select r.id, r.plugin, r.hook_name, r.status, r.output_str, r.attempt, r.retries
      from archive_result r, mine
      where r.snapshot_id = ${claim.id} and r.snapshot_id = mine.id and r.status <> 'started'
    order by attempt`
  const { rows } = await withRetry(owner.home.db, () => prepare.execute(owner.home.db))
  const current = new Map(rows.map((row) => [`${row.plugin}/${row.hook_name}`, row]))
  if (hooks.length > 0 && current.size === 0) throw new ClaimLost(`snapshot ${claim.id}`)
  return [...current.values()]
}

/** Nobody who begins after a power cut needs to find that a hook had been started: this commit need not wait for the disk. */
const RELAXED = sql`, set_config('synchronous_commit', 'off', true)`

/**
 * Moves a result along one edge, guarded by its snapshot's claim. What ends a started hook names its process: the start is written again
 * where a crash of the database took it back. Throws ClaimLost.
 */
export async function moveResult<S extends LiveState<Results>, const E extends EventOf<Results, S>>(
  owner: Owner,
  claim: SnapshotClaim,
  id: string,
  from: S,
  event: E,
  change: { readonly processId?: string } & Partial<ResultOutput> = {},
): Promise<void> {
  const target: State<Results> = (archiveResultMachine.states[from].on as Record<string, State<Results>>)[event]!
  const final = (finalStates(archiveResultMachine) as string[]).includes(target)
  const published = change.published ?? { written: {}, standing: {} }
  const move = (again: boolean) => sql<{ id: string }>`
    with ${owned(claim)}, ${handingOver(id, published)}, moved as (
      update archive_result
      set status = ${target},
          start_ts = ${target === 'started' ? sql`now()` : target === 'queued' ? sql`null` : sql`coalesce(start_ts, now())`},
          end_ts = ${final ? sql`now()` : sql`null`},
          process_id = coalesce(${change.processId ?? null}::uuid, process_id),
          output_str = ${change.output ?? ''}, output_json = ${change.json == null ? null : JSON.stringify(change.json)}::jsonb,
          output_files = own.files, output_size = own.size
      from mine, own where archive_result.id = ${id} and snapshot_id = mine.id and status = ${from}
      returning archive_result.id
    ), logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select 'archive_result', id, ${from}, ${target}, ${event}, ${owner.processId} from moved
    )
    select id${target === 'started' ? RELAXED : sql``} from moved
    union all select r.id${target === 'started' ? RELAXED : sql``} from archive_result r, mine
      where ${again} and r.id = ${id} and r.snapshot_id = mine.id and r.status = ${target}` // Ours, from before an answer was lost.
  const { rows } = await withRetry(owner.home.db, (again) => move(again).execute(owner.home.db))
  if (rows.length === 1) return
  if (from !== 'started' || !change.processId)
    throw new ClaimLost(`archive_result ${id}: ${from} -${event}-> ${target}`)
  await moveResult(owner, claim, id, 'queued', 'start', { processId: change.processId })
  await moveResult(owner, claim, id, from, event, change)
}

/** Ends the results of a snapshot that are still open, in the transaction that seals it. */
export async function skipOpenResults(tx: Owner['home']['db'], snapshotId: string, reason: string): Promise<void> {
  await sql`
    with open as (
      select id, status from archive_result where snapshot_id = ${snapshotId} and status in ('queued', 'started', 'backoff') for update
    ), skipped as (
      update archive_result r set status = 'skipped', output_str = ${reason}, start_ts = coalesce(r.start_ts, now()), end_ts = now()
      from open where r.id = open.id
      returning r.id, open.status as from_status
    )
    insert into transition (model, row_id, from_status, to_status, event)
    select 'archive_result', id, from_status, 'skipped', 'skip' from skipped`.execute(tx)
}

/** After a lost claim, when our hooks on the snapshot have ended: results that our own processes had started are nobody's any more. */
export async function forgetStarted(owner: Owner, snapshotId: string): Promise<void> {
  const forget = sql`
    with forgotten as (
      update archive_result set status = 'queued', start_ts = null, process_id = null
      where snapshot_id = ${snapshotId} and status = 'started' and process_id in (select id from process where parent_id = ${owner.processId})
      returning id
    )
    insert into transition (model, row_id, from_status, to_status, event, process_id)
    select 'archive_result', id, 'started', 'queued', 'interrupt', ${owner.processId} from forgotten`
  await withRetry(owner.home.db, () => forget.execute(owner.home.db))
}
