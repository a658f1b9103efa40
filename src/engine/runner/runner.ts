import { setTimeout as delay } from 'node:timers/promises'
import { aborted, Bell } from '../../base/abort.ts'
import { uuidv7 } from '../../base/ids.ts'
import { asError } from '../as-error.ts'
import type { OnError } from '../executor-options.ts'
import { keepClaims } from '../keep-claims.ts'
import { Watchdog } from '../watchdog.ts'
import { Gauge } from './gauge.ts'
import { deleteOld, expire } from './housekeeping.ts'
import { type Kept, keepHouse, keepWatch } from './keepers.ts'
import { Producer } from './producer.ts'
import { DEFAULTS, type RunnerOptions, type RunOptions } from './runner-options.ts'
import { type Summary, Tally } from './tally.ts'

/** The longest wait of the loop, which events normally wake. */
const LONGEST_WAIT_MS = 10_000
/** How long a drain waits for its listener to close. */
const CLOSE_MS = 2_000

/**
 * Works on the rows of several models: claims due rows into free slots, runs handlers and writes their outcomes, in a
 * loop. Several runners may work on the same tables, in one process or many.
 */
export class Runner {
  readonly #options: RunnerOptions
  readonly #concurrency: number
  readonly #onError: OnError
  readonly #bell = new Bell()
  readonly #gauge: Gauge
  /** The one whose last claim was longest ago comes first. */
  #producers: Producer[]
  #watchdog: Watchdog | undefined
  #isRunning = false

  /** Throws TypeError for two models of the same name, and for an excluded name that does not exist. */
  constructor(options: RunnerOptions) {
    const { models, exclude = [], concurrency = DEFAULTS.concurrency, deadlineMs = DEFAULTS.deadlineMs } = options
    const names = models.map(({ handlers }) => handlers.machine.name)
    for (const name of names)
      if (names.indexOf(name) !== names.lastIndexOf(name)) throw new TypeError(`two models are named "${name}"`)
    for (const name of exclude) if (!names.includes(name)) throw new TypeError(`there is no model "${name}" to exclude`)
    this.#options = options
    this.#concurrency = concurrency
    this.#onError = options.onError ?? ((error) => process.emitWarning(error))
    this.#gauge = new Gauge(options.sql)
    const ours = models.filter(({ handlers }) => !exclude.includes(handlers.machine.name))
    // One slot is reserved for each other model, so that a backlog does not keep its new rows waiting for a handler to
    // end.
    const each = Math.max(1, concurrency - (ours.length - 1))
    const shared = {
      engineSql: this.#gauge,
      sql: options.sql,
      owner: options.owner ?? uuidv7(),
      by: options.by ?? null,
      deadlineMs,
      log: options.log,
      onError: this.#onError,
      onNews: () => this.#bell.wake(),
      onWork: () => this.#watchdog?.feed(true),
    }
    this.#producers = ours.map((model) => new Producer(model, each, shared))
  }

  /** Runs until told to stop, then drains. Throws TypeError when it is already running. @returns what was handled */
  async run({ signal, force, runForMs }: RunOptions = {}): Promise<Summary> {
    const stops = [signal, force, runForMs === undefined ? undefined : AbortSignal.timeout(runForMs)].filter(
      (stop) => stop !== undefined,
    )
    const stop = AbortSignal.any(stops)
    if (force) void aborted(force).then(() => this.#putAllBack(asError(force.reason)))
    const { watchdog = DEFAULTS.watchdog } = this.#options
    if (!this.#isRunning) this.#watchdog = watchdog ? new Watchdog(watchdog) : undefined
    return await this.#whileKept(async (kept, over) => {
      const listening = this.#listen() // In parallel with the first claims: connecting takes a while.
      const keepers = [...keepWatch(kept, over), ...keepHouse(kept, stop)]
      while (!stop.aborted) {
        this.#claim(stop)
        await this.#bell.wait(this.#waitMs, stop)
      }
      await this.#idle()
      // A listener that is still connecting closes once it is up.
      await Promise.race([listening.then((listener) => listener?.close()), delay(CLOSE_MS, undefined, { ref: false })])
      return keepers
    })
  }

  /**
   * One cycle, for tests and for callers with a clock of their own: housekeeping, one claim per model, and the work
   * that these bring.
   */
  async runOnce(): Promise<Summary> {
    return await this.#whileKept(async ({ tally }) => {
      for (const producer of this.#producers) {
        await expire(producer, this.#options.by ?? null)
        await deleteOld(producer)
        producer.news()
      }
      await tally.lookForUnknown()
      this.#claim()
      await this.#idle()
      return []
    })
  }

  /** Gives each model that wants to claim its share of the free slots, in the order of their last claims. */
  #claim(stop?: AbortSignal): void {
    const hungry = this.#producers.filter((producer) => producer.waitMs === 0)
    for (const [index, producer] of hungry.entries()) {
      const share = Math.min(producer.claimable, Math.ceil(this.#free / (hungry.length - index)))
      if (share < 1) continue
      this.#producers = [...this.#producers.filter((other) => other !== producer), producer]
      void producer.claim(share, stop)
    }
  }

  get #free(): number {
    return this.#concurrency - this.#producers.reduce((used, producer) => used + producer.used, 0)
  }

  /** Milliseconds until a model wants to claim; Infinity without free slots, and the bell rings when there are some. */
  get #waitMs(): number {
    return this.#free > 0
      ? Math.min(...this.#producers.map((producer) => producer.waitMs), LONGEST_WAIT_MS)
      : LONGEST_WAIT_MS
  }

  /** Waits until nothing is held. */
  async #idle(): Promise<void> {
    while (!this.#producers.every((producer) => producer.isIdle)) await this.#bell.wait(LONGEST_WAIT_MS)
  }

  /** Runs `work` while leases are renewed and deadlines enforced, and until what it has started has ended, too. */
  async #whileKept(work: (kept: Kept, over: AbortSignal) => Promise<Promise<void>[]>): Promise<Summary> {
    if (this.#isRunning) throw new TypeError('the runner is already running')
    this.#isRunning = true
    const report = (error: unknown) => this.#onError(asError(error))
    const tally = new Tally(this.#producers, this.#options.onSummary, this.#onError)
    const kept = {
      options: this.#options,
      producers: this.#producers,
      gauge: this.#gauge,
      tally,
      watchdog: this.#watchdog,
      report,
    }
    const over = new AbortController()
    const keepers = keepClaims(this.#producers, report, over.signal)
    try {
      keepers.push(...(await work(kept, over.signal)))
    } finally {
      over.abort()
      await Promise.all(keepers)
      this.#watchdog = undefined
      this.#isRunning = false
    }
    tally.summarise()
    return tally.total()
  }

  async #listen(): Promise<{ close(): unknown } | undefined> {
    const onNews = () => {
      for (const producer of this.#producers) producer.news()
    }
    try {
      const listener = await this.#options.listen?.(onNews)
      if (listener) onNews() // For what came before it listened.
      return listener
    } catch (error) {
      this.#onError(asError(error)) // It only costs time: the loop polls.
      return undefined
    }
  }

  #putAllBack(reason: Error): void {
    for (const { executor } of this.#producers) executor.putAllBack(reason)
    this.#bell.wake()
  }
}
