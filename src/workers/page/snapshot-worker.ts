import { lacksSpace } from '../../base/disk-space.ts'
import { messageOf } from '../../base/errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import { ClaimLost } from '../../engine/claimed.ts'
import { RELEASED } from '../../engine/outcome.ts'
import { type SnapshotClaim, snapshotQueue } from '../../machines/queues.ts'
import { forgetStarted } from '../../machines/results.ts'
import { CannotEnd } from '../../processes/cannot-end.ts'
import { reconcileWork, treeOf } from '../repair/reconcile-work.ts'
import { HookSequence } from '../sequence/hook-sequence.ts'
import { workerActor } from '../supervise/worker-actor.ts'
import type { WorkerProcessContext } from '../supervise/worker-process.ts'
import { archiveSnapshot } from './archive-snapshot.ts'

/** The delay when a page may not begin yet because of another one in its worker. */
const APART_MS = 1_000

/** A lane of the SnapshotWorker: claims snapshots of the crawls that its CrawlWorker owns, one after another. */
export async function snapshotWorker(context: WorkerProcessContext): Promise<void> {
  const { owner, settings, company, closing, stop, log } = context
  let entered: string | undefined
  const endWhenFree = () => {
    if (closing.signal.aborted && entered === undefined) stop.requestDrain(Number.POSITIVE_INFINITY, true)
  }
  closing.signal.addEventListener('abort', endWhenFree)
  endWhenFree()
  const leave = () => {
    if (entered !== undefined) company.leave(entered)
    entered = undefined
    endWhenFree()
  }
  const tidyUp = async (claim: SnapshotClaim, error: unknown) => {
    // Our host lives on: by a result that is `started` in it, or by our note in its work tree, the page's next owner
    // would take us for a former worker.
    try {
      treeOf(owner.home, claim.row).unsign(owner)
    } finally {
      await forgetStarted(owner, claim.id)
    }
    if (!(error instanceof ClaimLost)) return
    await failpoint('claim.lost_results_forgotten')
    await reconcileWork(owner.home, claim.row)
  }
  const sequence = new HookSequence(context, owner.home.dataDir)
  const queue = snapshotQueue(owner, context.parentId, context.scope)
  await workerActor(context, {
    queue,
    mayClaim: () =>
      !context.holds() &&
      !closing.signal.aborted &&
      lacksSpace(owner.home.dataDir, settings.config.DISK_FLOOR) === undefined,
    warmUp: () => sequence.warmUp(),
    tick: async (claim, tick, isGivenUp) => {
      const isToBeAlone = claim.attempts > 1 && !isGivenUp
      if (company.enter(claim.id, isToBeAlone)) entered = claim.id
      // Another worker takes the other pages: a waiting lane would count as one that does.
      if (isToBeAlone) closing.abort()
      if (entered === undefined) {
        await queue.release(claim, APART_MS) // If it was taken away meanwhile, there is nothing to undo.
        await failpoint('claim.kept_apart')
        return RELEASED
      }
      const end = await archiveSnapshot(context, queue, sequence, claim, tick, isGivenUp)
      leave()
      return end
    },
    onTickException: async (claim, error) => {
      await sequence.endLeft()
      // What could not be ended is found by its result; a page that was kept apart is another lane's.
      if (entered !== undefined && !(error instanceof CannotEnd))
        await tidyUp(claim, error).catch((why: unknown) =>
          log[stop.force.aborted ? 'debug' : 'warn'](
            `snapshot ${claim.id}: its next owner tidies up: ${messageOf(why)}`,
          ),
        )
      leave()
    },
    onShutdown: async () => {
      closing.signal.removeEventListener('abort', endWhenFree) // The worker may have many lanes in its life.
      await sequence.close()
    },
  })
}
