import { messageOf } from '../../base/errors.ts'
import { kyselySql } from '../../db/database.ts'
import { resultsOfPage } from '../../db/results.ts'
import { transact } from '../../db/retry.ts'
import { ENDED, type Ended } from '../../engine/outcome.ts'
import { skipOpenResults } from '../../machines/finish-page.ts'
import type { SnapshotClaim, snapshotQueue } from '../../machines/queues.ts'
import { writeSnapshotPages } from '../index/index-pages.ts'
import { endWorkers } from '../supervise/reap.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
import { reconcileWork } from './reconcile-work.ts'

/**
 * Seals a page whose giving up failed, too: by its rows alone, whatever the state of its hooks, files and index.
 * @param why in one line
 */
export async function sealByRows(
  { owner, log }: Pick<WorkerContext, 'owner' | 'log'>,
  queue: ReturnType<typeof snapshotQueue>,
  claim: SnapshotClaim,
  why: string,
): Promise<Ended> {
  await endWorkers(owner, claim.row.before.former)
  const { home, processId } = owner
  const sealed = await transact(home.db, async (tx, again) => {
    const hasCopy = (await resultsOfPage(tx, claim.id)).some(({ output_size }) => output_size > 0)
    const fields = { outcome: hasCopy ? 'partial' : 'failed', cause: why } as const
    await skipOpenResults(tx, claim.id, why)
    const inside = queue.on(kyselySql(tx))
    if (!(again && (await inside.hasMoved(claim, 'sealed')))) await inside.move(claim, 'seal', processId, fields)
    return { ...claim.row, ...fields, status: 'sealed' as const, retry_at: null, status_changed_at: new Date() }
  })
  log.error(`snapshot ${claim.id}: ${why}`)
  const orSay = (what: string, done: Promise<unknown>) =>
    done.catch((error: unknown) => log.warn(`snapshot ${claim.id}: ${what}: ${messageOf(error)}`))
  await orSay('what its hooks left cannot be removed', reconcileWork(home, claim.row))
  await orSay('its index cannot be written', writeSnapshotPages(home, claim.id, { snapshot: sealed }))
  return ENDED
}
