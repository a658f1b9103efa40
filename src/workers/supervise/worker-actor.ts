import { isMachineTrouble, messageOf } from '../../base/errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import { kyselySql } from '../../db/database.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import { Actor } from '../../engine/actor.ts'
import type { AnyClaimed } from '../../engine/claimed.ts'
import { type Context, withHandlers } from '../../engine/handlers.ts'
import { type Ended, FAILED, type Failed, failed, PUT_BACK, type PutBack, putBack } from '../../engine/outcome.ts'
import { ClaimLost, type Queue } from '../../engine/queue.ts'
import type { crawlMachine } from '../../machines/crawl.ts'
import type { snapshotMachine } from '../../machines/snapshot.ts'
import { CannotEnd } from '../../processes/cannot-end.ts'
import { CannotClaim } from './lanes.ts'
import { endExpiredOwner, HeldUp } from './reap.ts'
import type { WorkerProcessContext } from './worker-process.ts'

/** How often an idle worker polls, though it is normally woken; it exits after two polls in vain. */
const IDLE_MS = 2_500
const MAX_IDLE_TICKS = 2
/** Delay after trouble of the machine such as a full disk; the row is not to blame. */
const TROUBLE_MS = 15_000
/** How often a row checks whether a process that cannot be ended has left it. */
const HELD_UP_MS = 10_000
/** Delay after the database has forgotten what was written under a claim; the attempt counts. */
const FORGOTTEN_MS = 1_000

type WorkMachine = typeof crawlMachine | typeof snapshotMachine

/** What a worker does with the rows that it claims; named as in the engine's actors. */
export interface WorkerHandlers<M extends WorkMachine, Row> {
  readonly queue: Queue<M, Row>
  readonly mayClaim?: () => boolean
  readonly warmUp?: () => void
  readonly onShutdown: () => Promise<unknown>
  /**
   * Works on one claimed row with all the processes that this takes, then ends the claim: sealed or released.
   * @param isGivenUp it was claimed too often in vain: seals it with what it has
   */
  readonly tick: (claim: AnyClaimed<M, Row>, context: Context, isGivenUp: boolean) => Promise<Ended>
  /** After a tick that threw, before its row is released: ends what the tick left running. */
  readonly onTickException: (claim: AnyClaimed<M, Row>, error: unknown) => Promise<unknown>
}

/** The actor that each worker process is: a tick owns processes and is over when they are gone. */
export async function workerActor<M extends WorkMachine, Row>(
  context: WorkerProcessContext,
  work: WorkerHandlers<M, Row>,
): Promise<void> {
  const { owner, stop, log, supervised } = context
  const { queue, tick, onTickException, ...options } = work
  const broken = Promise.withResolvers<never>()
  let hasFailed = false
  let unwritten: Error | undefined
  const ticking =
    (isGivenUp = false) =>
    async (claim: AnyClaimed<M, Row>, tickContext: Context) => {
      try {
        await failpoint('claim.made')
        await endExpiredOwner(owner, claim.expiredOwner)
        return await tick(claim, tickContext, isGivenUp)
      } catch (error) {
        hasFailed = true
        const isOurs = error instanceof CannotEnd && !(error instanceof HeldUp)
        await onTickException(claim, error).catch((why: unknown) => endAtOnce(broken, why))
        if (isOurs) return await endAtOnce(broken, error)
        // A server that died has kept the claim and may have forgotten the rest: then nobody waits for its lease.
        if (error instanceof ClaimLost) await queue.release(claim, FORGOTTEN_MS, true)
        return blame(context, `${queue.machine.name} ${claim.id}`, error)
      }
    }
  const onTickOver = async () => {
    if (hasFailed) await failpoint('claim.given_back')
    hasFailed = false
  }
  const handlers = withHandlers<WorkMachine, Row>(
    queue.machine,
    { queued: ticking() as never, started: ticking() as never },
    ticking(true) as never,
  )
  const actor = new Actor<WorkMachine, Row>({
    sql: kyselySql(owner.home.db),
    handlers,
    queue: queue as unknown as Queue<WorkMachine, Row>,
    ...{ claimFromTopN: 1, waitForHandlers: true, idleMs: IDLE_MS, maxIdleTicks: MAX_IDLE_TICKS },
    ...{ ...options, supervised, by: owner.processId, onTickEnd: onTickOver, onTickException: onTickOver },
    onError: (error, claim) => {
      const level = stop.force.aborted ? 'debug' : isDatabaseAway(error) ? 'warn' : 'error'
      log[level](`${claim ? `${queue.machine.name} ${claim.id}: ` : ''}${messageOf(error)}`)
      log.debug(error.stack ?? '')
      if (claim) return
      if (stop.force.aborted) unwritten = error
      throw new CannotClaim(messageOf(error), { cause: error }) // Its supervisor opens another with growing delay.
    },
  })
  await Promise.race([actor.run({ signal: stop.drain, force: stop.force }), broken.promise])
  if (unwritten) throw unwritten // The reaper releases its row, if it still has one.
}

/**
 * Ends this worker, because processes of its tick could not be ended. Its row stays claimed until the reaper has ended
 * them.
 */
async function endAtOnce(broken: PromiseWithResolvers<never>, why: unknown): Promise<never> {
  broken.reject(why)
  return await new Promise(() => {})
}

/**
 * Decides what becomes of a row whose tick threw. A failure of ours counts as an attempt, with growing delay; trouble
 * of the machine does not count. A lost claim is over. Throws what must be counted and logged.
 */
function blame({ stop, log }: WorkerProcessContext, what: string, error: unknown): Failed | PutBack {
  if (error instanceof ClaimLost) {
    log.warn(`claim lost: ${messageOf(error)}`)
    return FAILED
  }
  if (error instanceof HeldUp) {
    log.warn(`${what} waits: ${messageOf(error)}`)
    return putBack(HELD_UP_MS)
  }
  const isForced = stop.force.aborted
  const isBlameless = (isForced && stop.isExplained) || isMachineTrouble(error) || isDatabaseAway(error)
  if (!isForced && !isBlameless) throw error
  log[isForced ? 'debug' : 'error'](`${what}: ${messageOf(error)}`)
  if (!isBlameless) return failed(0)
  return isForced ? PUT_BACK : putBack(TROUBLE_MS)
}
