import { isMachineTrouble, messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { kyselySql } from '../db/database.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { Actor } from '../engine/actor.ts'
import type { AnyClaimed } from '../engine/claimed.ts'
import { type Context, withHandlers } from '../engine/handlers.ts'
import { type Ended, FAILED, type Failed, failed, PUT_BACK, type PutBack, putBack } from '../engine/outcome.ts'
import { ClaimLost, type Queue } from '../engine/queue.ts'
import type { crawlMachine } from '../machines/crawl.ts'
import type { snapshotMachine } from '../machines/snapshot.ts'
import { endExpiredOwner } from './reap.ts'
import type { WorkerProcessContext } from './worker-process.ts'

/** How often a worker without work looks for some, being woken is the rule; after two looks in vain it leaves. */
const IDLE_MS = 2_500
const MAX_IDLE_TICKS = 2
/** A full disk is looked at again after so long; the row is not to blame for it. */
const TROUBLE_MS = 15_000

type WorkMachine = typeof crawlMachine | typeof snapshotMachine

/** What a worker does with the rows that it claims; named as in the engine's actors. */
export interface Work<M extends WorkMachine, Row> {
  readonly queue: Queue<M, Row>
  readonly mayClaim?: () => boolean
  readonly warmUp?: () => void
  readonly onShutdown: () => Promise<unknown>
  /**
   * Works on one claimed row, with every process that this takes, and ends its claim: sealed, or released.
   * @param isGivenUp it was claimed too often in vain: it is sealed with what it has
   */
  readonly tick: (claim: AnyClaimed<M, Row>, context: Context, isGivenUp: boolean) => Promise<Ended>
  /** After a tick that threw, before its row is given back: ends what it left running. */
  readonly onTickException: (claim: AnyClaimed<M, Row>, error: unknown) => Promise<unknown>
}

/** The actor that every worker process is: its ticks own processes, and are over when these are gone. */
export async function workerActor<M extends WorkMachine, Row>(
  context: WorkerProcessContext,
  work: Work<M, Row>,
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
        await failpoint('claim.former_owner_ended')
        return await tick(claim, tickContext, isGivenUp)
      } catch (error) {
        hasFailed = true
        await onTickException(claim, error).catch((why: unknown) => endAtOnce(broken, why))
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
      throw error // A worker that cannot claim leaves: its supervisor starts another, ever later.
    },
  })
  await Promise.race([actor.run({ signal: stop.drain, force: stop.force }), broken.promise])
  if (unwritten) throw unwritten // Its row may be still its own: whoever reaps it gives that back.
}

/**
 * What its tick left running could not be ended: the worker is, its row still its own, and whoever reaps it ends the
 * rest.
 */
async function endAtOnce(broken: PromiseWithResolvers<never>, why: unknown): Promise<never> {
  broken.reject(why)
  return await new Promise(() => {})
}

/**
 * What becomes of a row whose tick threw. Not its hooks' failure but ours counts, and comes later each time; the
 * machine's is nobody's. A claim that was lost gives nothing back; it still holds when only a result was taken away.
 * Throws what is to be counted and told.
 */
function blame({ stop, log }: WorkerProcessContext, what: string, error: unknown): Failed | PutBack {
  if (error instanceof ClaimLost) {
    log.warn(`claim lost: ${messageOf(error)}`)
    return FAILED
  }
  const isForced = stop.force.aborted
  const isBlameless = (isForced && stop.isExplained) || isMachineTrouble(error) || isDatabaseAway(error)
  if (!isForced && !isBlameless) throw error
  log[isForced ? 'debug' : 'error'](`${what}: ${messageOf(error)}`)
  if (!isBlameless) return failed(0)
  return isForced ? PUT_BACK : putBack(TROUBLE_MS)
}
