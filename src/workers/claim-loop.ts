import { isMachineTrouble, messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { type AnyClaimed, ClaimLost } from '../engine/claimed.ts'
import type { Machine } from '../engine/machine.ts'
import type { OwnedQueue } from '../machines/queues.ts'
import { withLease } from './lease.ts'
import { endExpiredOwner } from './reap.ts'
import type { WorkerProcessContext } from './worker-process.ts'

/** How often a worker without work looks for some; being woken is the rule. */
const POLL_MS = 2_000
/** How long a worker without work stays, warm, for the next. */
const IDLE_MS = 5_000
/** A full disk is looked at again after so long; the row is not to blame for it. */
const TROUBLE_MS = 15_000
const LONGEST_RETRY_MS = 600_000

/** What a worker does with the rows that it claims; named as in the engine's actors. */
export interface Claiming<M extends Machine, Row> {
  readonly queue: OwnedQueue<M, Row>
  /** False: nothing is claimed for now, though something may be due. */
  readonly mayClaim?: () => boolean
  /** Got ready while the database looks for the first row, which is asked for before. */
  readonly besideFirstClaim?: () => void
  readonly onShutdown?: () => Promise<unknown>
  /**
   * Works on one claimed row, with every process that this takes, and ends its claim: sealed, or released.
   * @param abort aborts when everything is to be dropped at once: on force, and when the claim is lost
   */
  readonly tick: (claim: AnyClaimed<M, Row>, abort: AbortSignal) => Promise<unknown>
  /** After a tick that threw, before its row is given back: ends what it left running. */
  readonly onTickException: (claim: AnyClaimed<M, Row>, error: unknown) => Promise<unknown>
}

/** The loop of every worker: claims, works, claims again; leaves on a drain, or when there was nothing to claim for a while. */
export async function claimLoop<M extends Machine, Row>(
  context: WorkerProcessContext,
  work: Claiming<M, Row>,
): Promise<void> {
  const { queue } = work
  try {
    let { besideFirstClaim } = work
    for (let idleSince = performance.now(); !context.stop.drain.aborted && performance.now() - idleSince < IDLE_MS; ) {
      const claiming = work.mayClaim?.() === false ? undefined : queue.next()
      besideFirstClaim?.()
      besideFirstClaim = undefined
      const claim = await claiming
      if (claim) {
        await failpoint('claim.made')
        context.tell({ type: 'busy' })
        await tickOnce(context, work, claim)
        context.tell({ type: 'progress' })
        idleSince = performance.now()
      } else {
        context.tell({ type: 'idle' })
        await context.bell.wait(POLL_MS, context.stop.drain)
      }
    }
  } finally {
    await work.onShutdown?.()
  }
}

async function tickOnce<M extends Machine, Row>(
  context: WorkerProcessContext,
  work: Claiming<M, Row>,
  claim: AnyClaimed<M, Row>,
): Promise<void> {
  const { queue } = work
  const { id, attempts, expiredOwner } = claim
  try {
    await endExpiredOwner(context.owner, expiredOwner)
    await failpoint('claim.former_owner_ended')
    await withLease(context, queue, claim, (abort) => work.tick(claim, abort))
  } catch (error) {
    await work.onTickException(claim, error)
    if (error instanceof ClaimLost) context.log.warn(`claim lost: ${messageOf(error)}`)
    else context.log[context.stop.force.aborted ? 'debug' : 'error'](`${queue.machine.name} ${id}: ${messageOf(error)}`)
    if (error instanceof Error) context.log.debug(error.stack ?? '')
    // Not the hooks' failure but ours, or the machine's: later, less often each time, and not for ever. A claim that is lost gives nothing back.
    const { isExplained, force } = context.stop
    const { aborted: abort } = force
    const blameless = (abort && isExplained) || isMachineTrouble(error) || isDatabaseAway(error)
    await queue.release(
      claim,
      abort ? 0 : blameless ? TROUBLE_MS : Math.min(1_000 * 2 ** attempts, LONGEST_RETRY_MS),
      !blameless,
    )
    await failpoint('claim.given_back')
  }
}
