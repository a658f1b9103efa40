import { sql } from 'kysely'
import { otherCopies } from '../db/archived-pages.ts'
import { RELAXED } from '../db/relaxed.ts'
import type { ResultOfPage } from '../db/results.ts'
import { tagsOf } from '../db/snapshots.ts'
import { ClaimLost } from '../engine/queue.ts'
import { archiveResultMachine } from './archive-result.ts'
import { movedRows, NOBODY } from './moved.ts'
import type { Owner, SnapshotClaim } from './queues.ts'
import { bearing, moving, type ResultChange, requireWritten } from './results.ts'

/** A page as its index shows it. */
export interface FinishedPage {
  readonly output_size: number
  /** The database's clock. */
  readonly now: Date
  /** In the order of the hooks. */
  readonly results: readonly ResultOfPage[]
  /** Whether another copy of its URL exists or existed. */
  readonly isCopied: boolean
  /** Its own tags, including those that its hooks gave it. */
  readonly tags: readonly string[]
}

/** A condition on a page, `work`: all its results have ended, and no server has lost that. */
export const ALL_ENDED = `(
        select 1 from archive_result r
        where r.snapshot_id = work.id and r.status in ('queued', 'started', 'backoff') limit 1) is null`

/**
 * Writes the last changes of a page's results, and reads the resulting page. Inside a transaction the commit waits for
 * the disk, since nobody would repeat these writes. Throws ClaimLost.
 * @param begun when the page was begun, by `performance.now()`, if it has no results yet: these are the ends of all,
 *   and the page begins with this statement, too
 */
export async function finishPage(
  tx: Owner['home']['db'],
  owner: Owner,
  claim: SnapshotClaim,
  changes: readonly ResultChange[],
  begun?: number,
): Promise<FinishedPage> {
  const written =
    begun === undefined
      ? sql`${moving(owner, claim, changes)}, changed as (
      select id, result from moved union all select id, result from handed_over
    )`
      : sql`${bearing(owner, claim, changes, begun)}, changed as (select id, result from born)`
  const { rows } = await sql<ResultOfPage & { page_size: number; is_copied: boolean; now: Date; tags: string[] }>`
    with ${written}, there as (
      select (result).* from changed
      union all
      select r.* from archive_result r, mine
      where r.snapshot_id = mine.id and not exists (select from changed where changed.id = r.id)
    )
    select r.*, coalesce(sum(r.output_size) over (), 0) as page_size, ${otherCopies(claim.row)} as is_copied, now(),
      ${tagsOf(sql`${claim.id}::uuid`)} as tags,
      ${tx.isTransaction ? sql`null` : RELAXED}
    from mine left join there r on true
    order by hook_name, attempt`.execute(tx)
  if (rows.length === 0) throw new ClaimLost(`snapshot ${claim.id}`)
  requireWritten(changes, rows)
  const { page_size: output_size, is_copied: isCopied, now, tags } = rows[0]!
  return { output_size, now, results: rows.filter(({ id }) => id !== null), isCopied, tags }
}

/** Skips the open results of a snapshot that is sealed next, or was just sealed in the same transaction. */
export async function skipOpenResults(tx: Owner['home']['db'], snapshotId: string, reason: string): Promise<void> {
  await sql`
    with ${movedRows(archiveResultMachine, {
      as: 'skipped',
      rows: sql`array(select id from archive_result where snapshot_id = ${snapshotId}
        and status in ('queued', 'started', 'backoff'))`,
      from: ['queued', 'started', 'backoff'],
      event: 'skip',
      set: { output_str: sql`${reason}` },
      by: NOBODY,
    })}
    select id from skipped`.execute(tx)
}
