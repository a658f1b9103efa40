import type { Texts } from '../base/config.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { own } from '../base/own.ts'
import { reviveServer } from '../db/embedded/server.ts'
import type { Home } from '../db/home.ts'

/** How often a long outage is logged again. */
const SAY_MS = 60_000
/** In the environment of a runner, where a unit of systemd has our embedded server: that unit's name. */
export const DATABASE_UNIT = 'ARCHIVEBOX_DATABASE_UNIT'
/** Somebody else may be restarting our embedded server: how long we leave it to them. */
const REVIVE_AFTER_MS = 1_000
/** The same with a unit, which would not take over a server that we have started. */
const REVIVE_AFTER_UNIT_MS = 30_000

/**
 * Watches for outages of the database: logs when one begins and ends, and a long one, or one of many, once a minute.
 * Restarts our embedded server.
 */
export class OutageMonitor {
  readonly #home: Home
  readonly #log: Log
  readonly #reviveAfterMs: number
  #since: number | undefined
  #saidAt = Number.NEGATIVE_INFINITY
  /** The current one was logged. */
  #said = false
  #reviving = false

  constructor(home: Home, log: Log, env: Texts) {
    this.#home = home
    this.#log = log
    this.#reviveAfterMs = own(env, DATABASE_UNIT) === undefined ? REVIVE_AFTER_MS : REVIVE_AFTER_UNIT_MS
  }

  /** Whether one is in progress. */
  get isOn(): boolean {
    return this.#since !== undefined
  }

  /** The database did not answer. */
  seen(error: unknown): void {
    const now = performance.now()
    this.#since ??= now
    if (now - this.#saidAt > SAY_MS) {
      const minutes = Math.round((now - this.#since) / SAY_MS)
      const away = minutes > 0 ? `has been away for ${minutes} min` : 'is away'
      this.#log.warn(`the database ${away}, waiting for it: ${messageOf(error)}`, { event: 'database.away' })
      this.#saidAt = now
      this.#said = true
    }
    if (this.#home.embedded && now - this.#since >= this.#reviveAfterMs) void this.#revive()
  }

  /** The database has written something of ours; an answer alone would not prove that it can. */
  over(): void {
    if (this.#since === undefined) return
    const seconds = Math.ceil((performance.now() - this.#since) / 1000)
    if (this.#said) this.#log.info(`the database is back after ${seconds} s`, { event: 'database.back', seconds })
    this.#since = undefined
    this.#said = false
  }

  async #revive(): Promise<void> {
    if (this.#reviving) return
    this.#reviving = true
    try {
      if (await reviveServer(this.#home.dataDir))
        this.#log.info('started the database server again', { event: 'database.started' })
    } catch (error) {
      this.#log.debug(`cannot start the database server: ${messageOf(error)}`)
    } finally {
      this.#reviving = false
    }
  }
}
