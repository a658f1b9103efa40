import { lacksSpace } from '../base/disk-space.ts'
import type { Log } from '../base/log.ts'

/**
 * Reports once when the disk is too full to start pages, and once when there is space again. The workers check it
 * themselves.
 */
export class DiskMonitor {
  readonly #dataDir: string
  readonly #floor: number
  readonly #log: Log
  #lacking = false

  /** @param floor DISK_FLOOR */
  constructor(dataDir: string, floor: number, log: Log) {
    this.#dataDir = dataDir
    this.#floor = floor
    this.#log = log
  }

  /** Why no page may be started; undefined: there is space. */
  look(): string | undefined {
    const why = lacksSpace(this.#dataDir, this.#floor)
    if (why && !this.#lacking) this.#log.warn(why, { event: 'disk.full' })
    if (!why && this.#lacking) this.#log.info('there is space on the disk again', { event: 'disk.free' })
    this.#lacking = why !== undefined
    return why
  }
}
