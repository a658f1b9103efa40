import { messageOf } from '../base/errors.ts'
import { capLogs } from '../base/log-cap.ts'
import { deleteEndedProcesses, deleteOldTransitions } from '../db/history.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import type { Station } from './station.ts'

const EVERY_MS = 30_000
/** How long a round goes on with batches. The first is over after one, so that a runner which comes and goes loses no time. */
const ROUND_MS = 250
/** Rows of one statement: some 10 ms. */
const BATCH = 500

/**
 * Ends what would grow for ever: history older than HISTORY_DAYS, and logs. A leader does it every 30 s, in small batches, beside its loop;
 * what a long pause has left takes many rounds.
 */
export class Upkeep {
  readonly #station: Station
  #nextAt = Number.NEGATIVE_INFINITY
  #round: Promise<void> | undefined

  constructor(station: Station) {
    this.#station = station
  }

  /** Begins a round when it is time for one, and does not wait for it. */
  whenDue(): void {
    if (this.#round || performance.now() < this.#nextAt) return
    const ms = this.#nextAt === Number.NEGATIVE_INFINITY ? 0 : ROUND_MS
    this.#round = this.#work(ms).finally(() => {
      this.#nextAt = performance.now() + EVERY_MS
      this.#round = undefined
    })
  }

  /** Waits for the batch that is under way. */
  async end(): Promise<void> {
    this.#nextAt = Number.POSITIVE_INFINITY
    await this.#round
  }

  async #work(ms: number): Promise<void> {
    const { owner, settings, log } = this.#station
    try {
      await capLogs(owner.home.dataDir)
      if (settings.config.HISTORY_DAYS > 0) await this.#cutHistory(settings.config.HISTORY_DAYS, ms)
    } catch (error) {
      // The loop of the leader says what is wrong with the database; the rest is tried again in the next round.
      if (!isDatabaseAway(error)) log.warn(`cutting history and logs: ${messageOf(error)}`)
    }
  }

  async #cutHistory(days: number, ms: number): Promise<void> {
    const { db } = this.#station.owner.home
    const until = performance.now() + ms
    for (let isMore = true; isMore; ) {
      const counts = [await deleteEndedProcesses(db, days, BATCH), await deleteOldTransitions(db, days, BATCH)]
      isMore = counts.includes(BATCH) && performance.now() < until && this.#nextAt < Number.POSITIVE_INFINITY
    }
  }
}
