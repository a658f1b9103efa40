import { isOutOfSpace } from '../base/disk-room.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Home } from '../db/home.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { writeArchivePage } from '../workers/index-pages.ts'

const EVERY_MS = 2_000
/**
 * The part of the time that is spent on it at most: what takes long (the first update of a large archive, one that a long
 * transaction makes repeat) comes less often. Four cores at work, it is 2 % of them.
 */
const SHARE = 0.08

/**
 * Keeps the archive's index and its top page true while a leader works, beside its loop: every 2 s while anybody is
 * busy, once after that, and once more in the end.
 */
export class ArchivePageWriter {
  readonly #home: Home
  readonly #log: Log
  readonly #timer: NodeJS.Timeout
  #isDue = false
  #notBefore = 0
  #running: Promise<void> | undefined

  /** @param isBusy is anything worked on at this moment */
  constructor(home: Home, log: Log, isBusy: () => boolean) {
    this.#home = home
    this.#log = log
    this.#timer = setInterval(() => {
      const isBusyNow = isBusy()
      if ((isBusyNow || this.#isDue) && performance.now() >= this.#notBefore) this.#begin()
      this.#isDue = isBusyNow || performance.now() < this.#notBefore
    }, EVERY_MS).unref()
  }

  /** @param isUsed was anything worked on at all */
  async end(isUsed: boolean): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
    if (isUsed) await this.#write()
  }

  #begin(): void {
    const begun = performance.now()
    this.#running ??= this.#write().finally(() => {
      this.#running = undefined
      this.#notBefore = performance.now() + (performance.now() - begun) / SHARE - EVERY_MS
    })
  }

  /**
   * What fails is tried again the next time; nothing is lost meanwhile. The leader's loop has its own say about a
   * database that is away.
   */
  async #write(): Promise<void> {
    try {
      await writeArchivePage(this.#home)
    } catch (error) {
      const isKnown = isDatabaseAway(error) || isOutOfSpace(error)
      this.#log[isKnown ? 'debug' : 'warn'](`the archive's page: ${messageOf(error)}`)
    }
  }
}
