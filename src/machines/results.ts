import { sql } from 'kysely'
import { RELAXED } from '../db/relaxed.ts'
import type { ResultOfPage } from '../db/results.ts'
import { withRetry } from '../db/retry.ts'
import type { PublishedFiles, ResultStatus } from '../db/tables.ts'
import { type EventOf, finalStates, type LiveState, type State } from '../engine/machine.ts'
import { ClaimLost } from '../engine/queue.ts'
import { archiveResultMachine } from './archive-result.ts'
import { bornEachRow, movedEachRow, movedRows } from './moved.ts'
import { handingOver } from './outputs.ts'
import { isOurs, type Owner, type SnapshotClaim } from './queues.ts'
import { snapshotMachine } from './snapshot.ts'

type Results = typeof archiveResultMachine

/** The row of one hook's current attempt. */
export interface ResultRow
  extends Pick<ResultOfPage, 'id' | 'plugin' | 'hook_name' | 'status' | 'output_str' | 'attempt' | 'end_ts'> {
  /** Earlier attempts that failed temporarily. */
  readonly retries: number
  /** Files are published for it. */
  readonly has_files: boolean
}

/** A change of a result. */
export interface ResultChange {
  readonly result: Pick<ResultRow, 'id' | 'plugin' | 'hook_name'>
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
export const owned = (owner: Owner, claim: SnapshotClaim) => sql`
  mine as (select id, status, status_changed_at from snapshot where ${isOurs(owner, claim)} for no key update)`

/**
 * For a statement: moves results of one page along their edges, all or none, guarded by the page's claim (`mine`) and
 * the term. `moved` and `handed_over` have the rows that it changes, in their new state. One that is already `started`
 * only gets its new process. No two may be of one plugin.
 */
export const moving = (owner: Owner, claim: SnapshotClaim, changes: readonly ResultChange[]) => sql`
    ${owned(owner, claim)}, ${ended(changes)}, ${handingOver(claim.id)}, told as materialized (
      select * from ended join own using (id)
    ), ${movedEachRow(archiveResultMachine, {
      as: 'moved',
      changes: 'told',
      holder: 'mine',
      guard: sql`work.snapshot_id = ${claim.id}`,
      by: sql`${owner.processId}::uuid`,
      set: {
        start_ts: `case before.to_status when 'queued' then null when 'started' then coalesce(work.start_ts, now())
          else coalesce(now() - make_interval(secs => change.began_s), work.start_ts, now()) end`,
        // Never before the page was begun, which was written at another time: what ended before that is from an
        // earlier round.
        end_ts: `case when before.to_status in (${FINAL}) then
          greatest(now() - make_interval(secs => change.ended_s), (select status_changed_at from mine)) end`,
        process_id: 'coalesce(change.process_id, work.process_id)',
        output_str: 'change.output',
        output_json: 'change.json',
        // Without a publication, what an earlier run has published stays.
        output_files: 'case when change.written is null then work.output_files else change.files end',
        output_size: 'case when change.written is null then work.output_size else change.size end',
        node_id: sql`case when change.written is null then work.node_id
          when change.files <> '{}' then ${owner.home.dataDirId}::uuid end`,
      },
      returning: 'work as result',
    })}`

/**
 * For a statement, instead of `moving`: begins a page that has no results, and adds those of all its hooks at their
 * ends. `born` has them.
 * @param begun when the page was begun, by `performance.now()`
 */
export const bearing = (owner: Owner, claim: SnapshotClaim, ends: readonly ResultChange[], begun: number) => sql`
    ${owned(owner, claim)}, ${beginning(owner, claim, begun)}, ${ended(ends)}, ${bornEachRow(archiveResultMachine, {
      as: 'born',
      changes: 'ended',
      source: sql`cross join mine cross join lateral (
          select coalesce(jsonb_object_agg(key, value) filter (where key is not null), '{}') as files,
            coalesce(sum((value ->> 'size')::bigint), 0) as size
          from jsonb_each(coalesce(change.written, '{}') || coalesce(change.standing, '{}'))
        ) own
        where not exists (select from archive_result r where r.snapshot_id = mine.id)`,
      by: sql`${owner.processId}::uuid`,
      columns: {
        snapshot_id: 'mine.id',
        plugin: 'change.plugin',
        hook_name: 'change.hook_name',
        attempt: '1',
        start_ts: 'coalesce(now() - make_interval(secs => change.began_s), now())',
        end_ts: 'now() - make_interval(secs => change.ended_s)',
        process_id: 'change.process_id',
        output_str: 'change.output',
        output_json: 'change.json',
        output_files: 'own.files',
        output_size: 'own.size',
        node_id: sql`case when own.files <> '{}' then ${owner.home.dataDirId}::uuid end`,
      },
      returning: 'work as result',
    })}`

/**
 * For a statement with `mine`: the page becomes `started`, and our node its home.
 * @param begun when, by `performance.now()`: what ended before that is from an earlier round
 */
export const beginning = (owner: Owner, claim: SnapshotClaim, begun: number) => sql`${movedRows(snapshotMachine, {
  as: 'begun',
  rows: sql`array(select id from mine)`,
  from: ['queued'],
  event: 'start',
  token: sql`${claim.token}::uuid`,
  set: {
    home_node: sql`${owner.home.dataDirId}::uuid`,
    status_changed_at: sql`now() - make_interval(secs => ${(performance.now() - begun) / 1000})`,
  },
  by: sql`${owner.processId}::uuid`,
})}, homed as (
      update snapshot set home_node = ${owner.home.dataDirId}
      where id = (select id from mine where status = 'started') and home_node is null
    )`

/** `ended`: the changes, for a statement. */
const ended = (changes: readonly ResultChange[]) => sql`ended as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(asRows(changes))}::jsonb) as e (
        id uuid, plugin text, hook_name text, event text, to_status text, process_id uuid, output text, json jsonb,
        written jsonb, standing jsonb, began_s float8, ended_s float8
      )
    )`

/** Writes changes of one page's results, all or none. Throws ClaimLost. */
export async function writeResults(
  owner: Owner,
  claim: SnapshotClaim,
  changes: readonly ResultChange[],
): Promise<void> {
  const write = (again: boolean) => sql<Pick<ResultRow, 'id' | 'status'>>`
    with ${moving(owner, claim, changes)}
    select id, to_status as status, ${RELAXED} from moved
    union -- Ours, from before an answer was lost.
    select r.id, r.status, null from archive_result r, mine, ended e
    where ${again} and r.snapshot_id = mine.id and r.id = e.id and r.status = e.to_status`
  const { rows } = await withRetry(owner.home.db, (again) => write(again).execute(owner.home.db))
  requireWritten(changes, rows)
}

/** Throws ClaimLost unless the results are as these changes leave them. */
export function requireWritten(
  changes: readonly ResultChange[],
  rows: readonly Pick<ResultRow, 'id' | 'status'>[],
): void {
  const written = new Map(rows.map(({ id, status }) => [id, status]))
  const lost = changes.find(({ result, event }) => written.get(result.id) !== targetOf(event))
  if (lost) throw new ClaimLost(`archive_result ${lost.result.id}: ${lost.event}`)
}

/** Whether this change is the end of an attempt. */
export const isEnd = ({ event }: ResultChange): boolean => isFinal({ status: targetOf(event) })

/** The target of an event of a result, from either state in which it is open. */
const targetOf = (event: ResultChange['event']): State<Results> => archiveResultMachine.states.started.on[event]

/**
 * Queues final results of a page in work, because their hooks must run again; no attempt is counted. Their published
 * files stay theirs until they publish again. Throws ClaimLost.
 * @returns the paths of their files, by plugin
 */
export async function repeatResults(
  owner: Owner,
  claim: SnapshotClaim,
  results: readonly Pick<ResultRow, 'id'>[],
): Promise<Map<string, string[]>> {
  const repeat = sql<{ plugin: string; paths: string[] }>`
    with ${owned(owner, claim)}, final as materialized (
      select r.id, r.plugin, array(select jsonb_object_keys(r.output_files)) as paths from archive_result r
      where r.id = any(${results.map(({ id }) => id)}::uuid[]) and r.snapshot_id = ${claim.id}
        and exists (select from mine)
    ), ${movedRows(archiveResultMachine, {
      as: 'queued',
      rows: 'array(select id from final)',
      from: finalStates(archiveResultMachine),
      event: 'repeat',
      holder: 'mine',
      by: sql`${owner.processId}::uuid`,
    })}
    select plugin, paths from final`
  const { rows } = await withRetry(owner.home.db, () => repeat.execute(owner.home.db))
  if (rows.length < results.length) throw new ClaimLost(`snapshot ${claim.id}`)
  const byPlugin = Map.groupBy(rows, ({ plugin }) => plugin)
  return new Map([...byPlugin].map(([plugin, of]) => [plugin, of.flatMap(({ paths }) => paths)]))
}

function asRows(changes: readonly ResultChange[]): object[] {
  const now = performance.now() // For all of them: it matters which of two ended first.
  const ago = (at: number | undefined) => (at === undefined ? undefined : (now - at) / 1000)
  return changes.map(({ result, event, processId, output, json, published, began, ended }) => ({
    ...{ id: result.id, plugin: result.plugin, hook_name: result.hook_name },
    ...{ event, to_status: targetOf(event), process_id: processId },
    ...{ output: (output ?? '').toWellFormed(), json: json ?? null, ...published },
    ...{ began_s: ago(began), ended_s: ago(ended) ?? 0 },
  }))
}

const FINAL = finalStates(archiveResultMachine)
  .map((state) => `'${state}'`)
  .join(', ')

/** A status in which an attempt has ended for good. */
export type FinalStatus = Exclude<ResultStatus, LiveState<Results>>

/** Whether this attempt has ended for good. */
export const isFinal = <Row extends Pick<ResultRow, 'status'>>(
  row: Row,
): row is Row & { readonly status: FinalStatus } =>
  (finalStates(archiveResultMachine) as readonly string[]).includes(row.status)

/** After a failure, once our hooks on the snapshot have ended: queues the results that our processes had started. */
export async function forgetStarted(owner: Owner, snapshotId: string): Promise<void> {
  const forget = sql`
    with ${movedRows(archiveResultMachine, {
      as: 'forgotten',
      rows: sql`array(select id from archive_result where snapshot_id = ${snapshotId} and status = 'started')`,
      from: ['started'],
      event: 'interrupt',
      guard: sql`work.process_id in (select id from process where parent_id = ${owner.processId})`,
      by: sql`${owner.processId}::uuid`,
    })}
    select id from forgotten`
  await withRetry(owner.home.db, () => forget.execute(owner.home.db))
}
