import type { Context } from '../../engine/handlers.ts'
import type { Ended } from '../../engine/outcome.ts'
import { ClaimLost } from '../../engine/queue.ts'
import type { SnapshotClaim } from '../../machines/queues.ts'
import { snapshotMachine } from '../../machines/snapshot.ts'
import { takePageHome } from '../../machines/take-home.ts'
import { sealByRows } from '../repair/seal-by-rows.ts'
import type { HookSequence } from '../sequence/hook-sequence.ts'
import type { WorkerProcessContext } from '../supervise/worker-process.ts'
import { after } from './after.ts'
import { carryOut } from './carry-out.ts'
import { takeUp } from './claimed-page.ts'
import { endRound, type SnapshotQueue } from './end-round.ts'
import type { Stopped } from './page-state.ts'
import { plan } from './plan.ts'

const MOST_ATTEMPTS = snapshotMachine.states.started.giveUp.after
const SPENT = `${MOST_ATTEMPTS} attempts at this page did not finish`
const GIVEN_UP = `given up: ${SPENT}: its worker or runner died, or was stopped, each time`

/**
 * Archives one claimed snapshot: does what is planned until the page is sealed, or released because hooks remain to be
 * run. Throws ClaimLost when another worker owns the row by now.
 * @param tick its signal aborts on force, when the lease is lost, and when the time is over: all work stops then
 * @param isGivenUp fails the open hooks unrun, because one of them ended its worker in every attempt
 */
export async function archiveSnapshot(
  context: WorkerProcessContext,
  queue: SnapshotQueue,
  sequence: HookSequence,
  claim: SnapshotClaim,
  tick: Context,
  isGivenUp: boolean,
): Promise<Ended> {
  const { crawl } = claim.row.before
  if (!crawl) throw new ClaimLost(`snapshot ${claim.id} was deleted`)
  // Before anything that may be the cause of the failures.
  if (isGivenUp && claim.attempts > MOST_ATTEMPTS + 1) return await sealByRows(context, queue, claim, GIVEN_UP)
  const own = await takePageHome(context.owner, claim)
  const { page, claimed } = await takeUp(context, sequence, own, crawl, tick, isGivenUp ? GIVEN_UP : undefined)
  try {
    for (let state = claimed; ; ) {
      state = after(state, { what: 'stop', stop: stopOf(context, tick.signal) })
      const next = plan(state)
      switch (next.do) {
        case 'put off':
        case 'release':
        case 'leave':
        case 'seal':
          return await endRound(page, queue, state, next)
        default:
          state = await carryOut(page, state, next)
      }
    }
  } finally {
    await page.results.close()
  }
}

function stopOf({ stop }: WorkerProcessContext, abort: AbortSignal): Stopped {
  const how = stop.force.aborted ? 'force' : abort.aborted ? 'abort' : stop.drain.aborted ? 'drain' : 'none'
  return { how, isExplained: stop.isExplained }
}
