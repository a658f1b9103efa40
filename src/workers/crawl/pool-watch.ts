import type { OpenSnapshots } from '../../db/open-snapshots.ts'
import type { ActorPool } from '../../engine/actor-pool.ts'
import { isIdle } from './crawl-ends.ts'

/** How often a crawl looks for news, if nobody wakes it. */
const LOOK_MS = 2_000
/** How long a worker may take from one page to the next. */
const DOUBT_MS = 500

/**
 * Notices workers whose page was taken from them, by a pause or a cancellation, and makes them look. A worker between
 * two pages briefly looks the same.
 */
export class PoolWatch {
  readonly #pool: ActorPool
  /** The count of progress when the work began, and when it was last asked for. */
  readonly #before: number
  #known: number
  #doubtSince: number | undefined

  constructor(pool: ActorPool) {
    this.#pool = pool
    this.#before = pool.changes
    this.#known = pool.changes
  }

  /** Whether no page made progress. */
  get cameToNothing(): boolean {
    return this.#pool.changes === this.#before
  }

  /** Whether one did since this was last asked. */
  hasProgressed(): boolean {
    const known = this.#known
    this.#known = this.#pool.changes
    return this.#known > known
  }

  /** How long the crawl may wait before it looks again, in milliseconds. */
  get waitMs(): number {
    return this.#doubtSince === undefined ? LOOK_MS : DOUBT_MS
  }

  tend(pages: OpenSnapshots): void {
    const isDoubtful = this.#pool.busy > pages.claimed
    this.#doubtSince = isDoubtful ? (this.#doubtSince ?? performance.now()) : undefined
    const isLong = this.#doubtSince !== undefined && performance.now() - this.#doubtSince >= DOUBT_MS
    if (isLong) this.#doubtSince = undefined
    // A worker that is still busy must be told before we exit.
    const isLeft = this.#pool.busy > 0 && (!pages.open || isIdle(pages))
    if (isLong || isLeft) this.#pool.recheck()
  }
}
