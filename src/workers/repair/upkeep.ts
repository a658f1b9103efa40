import { sleep } from '../../base/abort.ts'
import { isMachineTrouble, messageOf } from '../../base/errors.ts'
import { capLogs } from '../../base/log-cap.ts'
import { deleteEndedProcesses, deleteOldTransitions } from '../../db/history.ts'
import { deleteOldLeads } from '../../db/leads.ts'
import { deleteOldSamples, noteQueue } from '../../db/queue-history.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
import { judgeOldPages } from './judge-old-pages.ts'
import { removeLeftFolders } from './left-folders.ts'

const EVERY_MS = 30_000
/** Delay until the next round when work remains: a busy archive must not grow faster than this trims it. */
const SOON_MS = 5_000
/**
 * How long a round continues with batches. The first round is one batch, so that a short-lived runner loses no time.
 */
const ROUND_MS = 250
/** The same for judging old pages: a million take half an hour. */
const JUDGING_MS = 2_000
/** Rows per statement: about 10 ms. */
const BATCH = 200

/** How long the end of a lead waits for the current batch. */
const END_MS = 2_000

/**
 * Trims what would grow for ever: history older than HISTORY_DAYS, logs, and what killed processes left in /tmp. Also
 * judges pages sealed before outcomes existed, and records the length of the queue. A leader runs it every 30 s in
 * small batches, beside its loop; a large backlog takes many rounds.
 */
export class Upkeep {
  readonly #context: WorkerContext
  #nextAt = Number.NEGATIVE_INFINITY
  #round: Promise<void> | undefined
  #hasEnded = false
  /** The last round left work. */
  #isMore = false

  constructor(context: WorkerContext) {
    this.#context = context
  }

  /** Starts a round when one is due, without waiting for it. */
  whenDue(): void {
    if (this.#round || this.#hasEnded || performance.now() < this.#nextAt) return
    const ms = this.#nextAt === Number.NEGATIVE_INFINITY ? 0 : ROUND_MS
    this.#round = this.#work(ms).finally(() => {
      this.#nextAt = performance.now() + (this.#isMore ? SOON_MS : EVERY_MS)
      this.#round = undefined
    })
  }

  /** Starts no more rounds and waits briefly for the current one; a hanging database does not delay it. */
  async end(): Promise<void> {
    this.#hasEnded = true
    const over = new AbortController()
    await Promise.race([this.#round, sleep(END_MS, over.signal)])
    over.abort()
  }

  async #work(ms: number): Promise<void> {
    const { owner, settings } = this.#context
    this.#isMore = false
    const { HISTORY_DAYS: days } = settings.config
    await this.#attempt('cutting logs', () => capLogs(owner.home.dataDir))
    await this.#attempt('removing left folders', () => removeLeftFolders(owner.home))
    await this.#attempt('noting the queue', () => noteQueue(owner.home.db))
    if (days > 0) await this.#attempt('cutting history', () => this.#cutHistory(days, ms))
    await this.#attempt('judging pages', () => this.#judgeOldPages(ms && JUDGING_MS))
  }

  /** The next round repeats what fails. The leader's loop reports a database that is away. */
  async #attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const { log } = this.#context
      const isKnown = isDatabaseAway(error) || isMachineTrouble(error)
      log[isKnown ? 'debug' : 'warn'](`${what}: ${messageOf(error)}`)
    }
  }

  async #cutHistory(days: number, ms: number): Promise<void> {
    const { db } = this.#context.owner.home
    const until = performance.now() + ms
    await deleteOldLeads(db, days)
    await deleteOldSamples(db, days)
    for (let goesOn = true; goesOn; ) {
      const counts = [await deleteEndedProcesses(db, days, BATCH), await deleteOldTransitions(db, days, BATCH)]
      const isMore = counts.includes(BATCH)
      this.#isMore ||= isMore
      goesOn = isMore && performance.now() < until && !this.#hasEnded
    }
  }

  async #judgeOldPages(ms: number): Promise<void> {
    const until = performance.now() + ms
    for (let goesOn = true; goesOn; ) {
      const isMore = (await judgeOldPages(this.#context.owner.home, BATCH)) === BATCH
      this.#isMore ||= isMore
      goesOn = isMore && performance.now() < until && !this.#hasEnded
    }
  }
}
