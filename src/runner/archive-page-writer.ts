import { isOutOfSpace } from '../base/disk-room.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Home } from '../db/home.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { writeArchivePage } from '../workers/index-pages.ts'

const EVERY_MS = 5_000

/**
 * Keeps the archive's top page up to date while a leader works: written after changes, at most every 5 s, and once more
 * at the end.
 */
export class ArchivePageWriter {
  readonly #home: Home
  readonly #log: Log
  #changes = 0
  #writtenAt = Number.NEGATIVE_INFINITY

  constructor(home: Home, log: Log) {
    this.#home = home
    this.#log = log
  }

  /**
   * @param changes how many changes there were so far
   * @param now do not wait for the next time
   * Throws when the database is away; a page that cannot be written is tried again after the next change.
   */
  async write(changes: number, now: boolean): Promise<void> {
    if (changes === this.#changes || !(now || performance.now() - this.#writtenAt > EVERY_MS)) return
    await writeArchivePage(this.#home).catch((error: unknown) => {
      if (isDatabaseAway(error)) throw error
      this.#log[isOutOfSpace(error) ? 'debug' : 'warn'](`the archive's page: ${messageOf(error)}`)
    })
    this.#changes = changes
    this.#writtenAt = performance.now()
  }
}
