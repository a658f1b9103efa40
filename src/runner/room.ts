import { lacksRoom } from '../base/disk-room.ts'
import type { Log } from '../base/log.ts'
import type { HookSettings } from '../hooks/discover.ts'

/** Says once when the disk is too full to begin pages, and once when there is room again. The workers look for themselves. */
export class Room {
  readonly #dataDir: string
  readonly #settings: HookSettings
  readonly #log: Log
  #lacking = false

  constructor(dataDir: string, settings: HookSettings, log: Log) {
    this.#dataDir = dataDir
    this.#settings = settings
    this.#log = log
  }

  /** Why no page may be begun; undefined: there is room. */
  look(): string | undefined {
    const why = lacksRoom(this.#dataDir, this.#settings)
    if (why && !this.#lacking) this.#log.warn(why)
    if (!why && this.#lacking) this.#log.info('there is room on the disk again')
    this.#lacking = why !== undefined
    return why
  }
}
