import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Stop } from '../base/stop.ts'
import { BEAT_MS } from '../db/heartbeats.ts'
import type { Home } from '../db/home.ts'
import { sayThere } from '../db/processes.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { isTransient } from '../processes/spawned.ts'
import type { Outage } from './outage.ts'
import type { Registered } from './registration.ts'

/**
 * The heartbeat of a runner that does not lead: says that it is there and whom it waits for, notices when its row is closed or deleted, and
 * that the database is away. Without it a standby would wait beside a dead database, or in the name of a row that nobody sees.
 */
export class WaitingHeartbeat {
  /** Also drains when our row is gone: then there is nothing left to wait for. */
  readonly stop: Stop
  readonly #home: Home
  readonly #log: Log
  readonly #me: Registered
  readonly #outage: Outage
  readonly #timer: NodeJS.Timeout
  #reason: string | null = null
  #ended = false
  #isLost = false

  constructor(
    options: { readonly home: Home; readonly log: Log; readonly outage: Outage },
    me: Registered,
    stop: Stop,
  ) {
    this.#home = options.home
    this.#log = options.log
    this.#outage = options.outage
    this.#me = me
    this.stop = stop.part()
    this.#timer = setInterval(() => void this.#beat(), BEAT_MS)
  }

  /** Was our row closed or deleted by somebody else? */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Has `status` show whom we wait for. */
  waitsFor(reason: string | null): void {
    if (this.#reason === reason) return
    this.#reason = reason
    void this.#beat()
  }

  /** A look at who leads failed: throws what waiting does not mend. */
  away(error: unknown): void {
    if (isDatabaseAway(error)) this.#outage.seen(error)
    else if (isTransient(error)) this.#log.warn(`looking who leads: ${messageOf(error)}; trying again`)
    else throw error
  }

  end(): void {
    this.#ended = true
    clearInterval(this.#timer)
  }

  async #beat(): Promise<void> {
    try {
      const isThere = await sayThere(this.#home.db, this.#me.id, this.#reason)
      if (this.#ended) return
      this.#outage.over()
      if (isThere) return
      this.#log.warn('the row of this runner was closed or deleted by somebody else: registering again')
      this.#isLost = true
      this.end()
      this.stop.requestDrain()
    } catch (error) {
      if (this.#ended) return
      if (isDatabaseAway(error)) this.#outage.seen(error)
      else this.#log.warn(`heartbeat failed: ${messageOf(error)}`)
    }
  }
}
