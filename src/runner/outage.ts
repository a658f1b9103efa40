import { sleep } from '../base/abort.ts'
import { backoff } from '../base/backoff.ts'
import { AppError, codeOf, messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { reviveServer } from '../db/embedded/server.ts'
import type { Home } from '../db/home.ts'
import { explainDatabaseError, isDatabaseAway } from '../db/trouble.ts'
import { isTransient } from '../processes/spawned.ts'
import type { WhyEnded } from './options.ts'
import type { Signals } from './signals.ts'

/** A long outage is said again so often. */
const SAY_MS = 60_000
/** Our own server may be on its way back by somebody else's hand: it is left to them for so long. */
const REVIVE_AFTER_MS = 1_000
const LONGEST_PAUSE_MS = 5_000

/**
 * The database's outages: each is said when it begins and when it is over, and a long one, or one of many, once a minute. Our own server is
 * started again.
 */
export class Outage {
  readonly #home: Home
  readonly #log: Log
  #since: number | undefined
  #saidAt = Number.NEGATIVE_INFINITY
  /** The present one was said. */
  #said = false
  #reviving = false

  constructor(home: Home, log: Log) {
    this.#home = home
    this.#log = log
  }

  /** Is one under way? */
  get isOn(): boolean {
    return this.#since !== undefined
  }

  /** The database did not answer. */
  seen(error: unknown): void {
    const now = performance.now()
    this.#since ??= now
    if (now - this.#saidAt > SAY_MS) {
      const minutes = Math.round((now - this.#since) / SAY_MS)
      this.#log.warn(
        `the database ${minutes > 0 ? `has been away for ${minutes} min` : 'is away'}, waiting for it: ${messageOf(error)}`,
      )
      this.#saidAt = now
      this.#said = true
    }
    if (this.#home.embedded && now - this.#since >= REVIVE_AFTER_MS) void this.#revive()
  }

  /** It has written something of ours: that it answers alone would not do. */
  over(): void {
    if (this.#since === undefined) return
    if (this.#said)
      this.#log.info(`the database is back after ${Math.ceil((performance.now() - this.#since) / 1000)} s`)
    this.#since = undefined
    this.#said = false
  }

  async #revive(): Promise<void> {
    if (this.#reviving) return
    this.#reviving = true
    try {
      if (await reviveServer(this.#home.dataDir)) this.#log.info('started the database server again')
    } catch (error) {
      this.#log.debug(`cannot start the database server: ${messageOf(error)}`)
    } finally {
      this.#reviving = false
    }
  }
}

/**
 * Does the work of a runner, registration first, again and again for as long as the database is what ends it. Whether we still lead is for
 * the gate to say each time. Throws what waiting does not mend: a refused login, a database that does not exist.
 */
export async function throughOutages(
  { home, log }: { readonly home: Home; readonly log: Log },
  signals: Signals,
  work: (outage: Outage) => Promise<WhyEnded | 'lost'>,
): Promise<WhyEnded> {
  const outage = new Outage(home, log)
  for (let tries = 1; ; tries += 1) {
    const begun = performance.now()
    try {
      const why = await work(outage)
      if (why !== 'lost') return why
    } catch (error) {
      if (isDatabaseAway(error)) outage.seen(error)
      else if (isTransient(error)) log.warn(`${messageOf(error)}: trying again`)
      else throw unrecoverable(error, home.databaseUrl)
    }
    if (performance.now() - begun > LONGEST_PAUSE_MS) tries = 1
    const { stop } = signals
    await sleep(backoff(tries, { baseMs: 200, maxMs: LONGEST_PAUSE_MS }), stop.drain)
    if (stop.drain.aborted) return stop.force.aborted ? 'forced' : 'drained'
  }
}

function unrecoverable(error: unknown, url: string): unknown {
  if (!['28P01', '28000', '3D000'].includes(codeOf(error) ?? '')) return error
  const { message, hint } = explainDatabaseError(error, url) as AppError
  return new AppError(message, { ...(hint === undefined ? {} : { hint }), cause: error })
}
