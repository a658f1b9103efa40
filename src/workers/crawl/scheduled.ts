import { messageOf } from '../../base/errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import { kyselySql } from '../../db/database.ts'
import { msUntilDue, type ScheduleRow } from '../../db/schedules.ts'
import { Actor } from '../../engine/actor.ts'
import { withHandlers } from '../../engine/handlers.ts'
import { ENDED } from '../../engine/outcome.ts'
import { scheduleQueue } from '../../machines/queues.ts'
import { scheduleMachine } from '../../machines/schedule.ts'
import type { WorkScope } from '../../machines/scope.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'

/** The safety net under the notification of a schedule that was added or resumed elsewhere. */
const LOOK_MS = 30_000

/**
 * Adds the crawls of schedules when they are due. A leader that works on everything does so; one that was started for
 * certain crawls or pages leaves them to the next one, which makes up for missed ones.
 */
export class Scheduled {
  readonly #context: WorkerContext
  readonly #isOurs: boolean
  #lookAt = Number.NEGATIVE_INFINITY

  constructor(context: WorkerContext) {
    this.#context = context
    this.#isOurs = isEverything(context.scope)
  }

  /** Something has changed: look the next time. */
  look(): void {
    this.#lookAt = Number.NEGATIVE_INFINITY
  }

  /** Handles due schedules; without any it costs a statement every 30 s. */
  async whenDue(): Promise<void> {
    if (this.#isOurs && performance.now() >= this.#lookAt) await this.isNear(0)
  }

  /** Handles due schedules. True: there was one, or one will be due within `soonMs`. */
  async isNear(soonMs: number): Promise<boolean> {
    if (!this.#isOurs) return false
    this.#lookAt = performance.now() + LOOK_MS
    const { db } = this.#context.owner.home
    const before = await msUntilDue(db)
    if (before !== undefined && before <= 0) await this.#handleDue()
    const left = before !== undefined && before <= 0 ? await msUntilDue(db) : before
    if (left !== undefined) this.#lookAt = Math.min(this.#lookAt, performance.now() + Math.max(0, left))
    return before !== undefined && before <= soonMs
  }

  async #handleDue(): Promise<void> {
    const { owner, log, stop } = this.#context
    // Few processes ever need it: it reads cron lines.
    const { handleMoment } = await import('../../machines/scheduled-crawls.ts')
    const queue = scheduleQueue(owner)
    const handlers = withHandlers<typeof scheduleMachine, ScheduleRow>(scheduleMachine, {
      active: async (claim) => {
        await failpoint('claim.schedule_claimed')
        const moment = await handleMoment(owner.home.db, queue, claim)
        await failpoint('claim.schedule_released')
        const added = { event: 'schedule.added', schedule_id: claim.id } as const
        if (moment?.crawlId)
          log
            .about({ crawl_id: moment.crawlId })
            .info(`schedule ${claim.id}: added crawl ${moment.crawlId} ${moment.message}`.trimEnd(), added)
        else if (moment) log.warn(`schedule ${claim.id}: ${moment.message}`)
        return ENDED
      },
    })
    const actor = new Actor({
      ...{ sql: kyselySql(owner.home.db), handlers, queue, by: owner.processId },
      ...{ claimFromTopN: 1, waitForHandlers: true, maxIdleTicks: 0 },
      onError: (error, claim) => {
        log.warn(`${claim ? `schedule ${claim.id}` : 'schedules'}: ${messageOf(error)}`)
        if (!claim) throw error
      },
    })
    await actor.run({ signal: stop.drain })
  }
}

const isEverything = ({ crawlIds, snapshotIds, exclude = [] }: WorkScope) =>
  crawlIds === undefined && snapshotIds === undefined && !exclude.includes('crawl')
