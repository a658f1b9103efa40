import { isOutOfSpace } from '../base/disk-space.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Home } from '../db/home.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import type { ActorPool } from '../engine/actor-pool.ts'
import { writeArchivePage } from '../workers/index/index-pages.ts'

const EVERY_MS = 1_900
/**
 * The writer uses at most this part of its time: an update that takes long (the first one of a large archive, or one
 * that a long transaction makes repeat) comes less often. With four busy cores, it is 2 % of them.
 */
const SHARE = 0.08

/**
 * Keeps the index and the top page of the archive up to date while a leader works: every 2 s while anybody is busy,
 * once after that, and once more at the end.
 */
export class ArchivePageWriter {
  readonly #home: Home
  readonly #log: Log
  /** There may be something to write. */
  #isDue = false
  #notBefore = 0
  /** Why it could not be written the last time. */
  #failure: string | undefined
  /** The changes of the workers that the page certainly includes. */
  #changesWritten: number | undefined

  constructor(home: Home, log: Log) {
    this.#home = home
    this.#log = log
  }

  /**
   * Throws when the database is away. A page that cannot be written is tried again the next time; nothing is lost.
   * @param isBusy whether any worker is at work now
   * @param now do not wait for the next time
   */
  async write(isBusy: boolean, now: boolean): Promise<void> {
    const begun = performance.now()
    this.#isDue ||= isBusy
    if (!this.#isDue || !(now || begun >= this.#notBefore)) return
    const isComplete = await writeArchivePage(this.#home).catch((error: unknown) => {
      if (isDatabaseAway(error)) throw error
      const why = messageOf(error)
      this.#log[isOutOfSpace(error) || why === this.#failure ? 'debug' : 'warn'](`the archive's page: ${why}`)
      this.#failure = why
      return false
    })
    if (isComplete) this.#failure = undefined
    this.#isDue = isBusy || !isComplete
    this.#notBefore = begun + Math.max(EVERY_MS, (performance.now() - begun) / SHARE)
  }

  /** Writes it once more on exit, unless that was done and the workers have changed nothing since. */
  async writeLast({ changes, used }: Pick<ActorPool, 'changes' | 'used'>): Promise<void> {
    if (changes === this.#changesWritten) return
    await this.write(used, true)
    this.#changesWritten = changes
  }
}
