import { sleep } from '../base/abort.ts'
import { codeOf } from '../base/errors.ts'
import { asError } from './as-error.ts'
import type { Counts } from './counts.ts'
import type { Machine } from './machine.ts'
import { FAILED, type Step, stepOf } from './outcome.ts'
import type { Queue } from './queue.ts'
import { isAlike, type Stepped } from './steps.ts'
import type { Tick, TickEnd } from './tick.ts'

/** An outcome that is yet to be written. */
interface Unwritten extends Stepped {
  readonly tick: Tick
  readonly end: TickEnd
}

/** Most rows per statement. */
const BATCH = 1_000
/** At most this many rows with the same step get no separate statement while others wait. */
const FEW_ALIKE = 100
const RETRY_MS = 500

/**
 * Writes the outcomes of one model in batches. Those that gather during a batch go with the next one: a single outcome
 * does not wait, and many take few statements. An outcome that the table refuses does not affect the others: its row
 * fails instead.
 */
export class Completer {
  readonly #queue: Queue<Machine, unknown>
  readonly #by: string | null
  readonly #counts: Counts
  readonly #onError: (error: unknown, tick?: Tick) => void
  readonly #onSettled: (step: Step | undefined) => void
  #waiting: Unwritten[] = []
  #isBusy = false
  /** Outcomes that are not yet written. */
  size = 0
  /** Failed writes are not repeated. */
  isForced = false

  /** @param onSettled called after each batch, with the step whose row is due first, if any */
  constructor(known: {
    readonly queue: Queue<Machine, unknown>
    readonly by: string | null
    readonly counts: Counts
    readonly onError: (error: unknown, tick?: Tick) => void
    readonly onSettled: (first: Step | undefined) => void
  }) {
    this.#queue = known.queue
    this.#by = known.by
    this.#counts = known.counts
    this.#onError = known.onError
    this.#onSettled = known.onSettled
  }

  add(tick: Tick, step: Step, end: TickEnd): void {
    this.size += 1
    this.#waiting.push({ claim: tick.claim, step, tick, end })
    if (this.#isBusy) return
    this.#isBusy = true
    void this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    await undefined // Handlers that end together are written together.
    while (this.#waiting.length > 0) await this.#write(this.#waiting.splice(0, this.#next()))
    this.#isBusy = false
  }

  /** How many go next: the rows of one claim with the same step, which is half the work, unless they are few. */
  #next(): number {
    const [first] = this.#waiting
    const other = this.#waiting.findIndex((one) => !isAlike(one, first!))
    return Math.min(BATCH, other < FEW_ALIKE ? this.#waiting.length : other)
  }

  async #write(batch: Unwritten[]): Promise<void> {
    try {
      const lost = await this.#queue.apply(batch, this.#by)
      let first: Step | undefined
      for (const one of batch) {
        const written = !lost.has(one.claim.id)
        if (written) this.#counts.stepped(one.step)
        if (written && isSooner(one.step, first)) first = one.step
        this.#ended(one, written ? one.end : { how: 'lost' })
      }
      this.#onSettled(first)
    } catch (error) {
      if (isRefusal(error)) await this.#isolate(batch, error)
      else await this.#later(batch, error)
    }
  }

  /** The table refuses something in this batch: halves it until the row is found. */
  async #isolate(batch: Unwritten[], error: unknown): Promise<void> {
    if (batch.length > 1) {
      const half = batch.length >> 1
      await this.#write(batch.slice(0, half))
      await this.#write(batch.slice(half))
      return
    }
    const [{ tick, end }] = batch as [Unwritten]
    this.#onError(error, tick)
    if (end.how === 'failed') {
      this.#dropped(batch)
      return
    }
    this.#counts.failed += 1
    const step = stepOf(this.#queue.machine, tick.claim, FAILED)
    await this.#write([{ claim: tick.claim, step, tick, end: { how: 'failed', error: asError(error) } }])
  }

  /** The database does not answer: keeps the outcomes for as long as the leases certainly hold. */
  async #later(batch: Unwritten[], error: unknown): Promise<void> {
    this.#onError(error)
    if (!this.isForced) await sleep(RETRY_MS)
    const now = this.isForced ? Number.POSITIVE_INFINITY : performance.now()
    const again = batch.filter(({ tick }) => tick.trustedUntil > now)
    this.#waiting.unshift(...again.map((one) => ({ ...one, isAgain: true })))
    this.#dropped(batch.filter(({ tick }) => tick.trustedUntil <= now))
  }

  #dropped(batch: readonly Unwritten[]): void {
    for (const one of batch) this.#ended(one, { how: 'lost' })
    this.#onSettled(undefined)
  }

  #ended({ tick, step }: Unwritten, end: TickEnd): void {
    this.size -= 1
    if (end.how === 'lost') this.#counts.lost += 1
    else if (end.how === 'settled' && step.event === '') this.#counts.again += 1
    tick.done?.(end)
  }
}

/**
 * Whether this row is at fault, so that others in its batch should be written. Otherwise the connection, the server or
 * a deadlock is.
 */
function isRefusal(error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !/^(08|25|40|53|55|57|58|XX)/.test(code)
}

function isSooner(step: Step, than: Step | undefined): boolean {
  return step.afterSeconds !== null && (than === undefined || step.afterSeconds < than.afterSeconds!)
}
