import { sleep } from '../base/abort.ts'
import { codeOf } from '../base/errors.ts'
import type { Counts } from './counts.ts'
import type { Machine } from './machine.ts'
import { FAILED, type Step, stepOf } from './outcome.ts'
import type { Queue } from './queue.ts'
import type { Tick, TickEnd } from './tick.ts'
import { isAlike, type Stepped } from './transitions.ts'

/** An outcome on its way to the database. */
interface Ending extends Stepped {
  readonly tick: Tick
  readonly end: TickEnd
}

/** Rows in one statement at most. */
const BATCH = 1_000
/** Fewer rows that are alike are not worth a statement of their own while others wait. */
const FEW_ALIKE = 100
const RETRY_MS = 500

/**
 * Writes the outcomes of one model in batches: whatever gathers while earlier batches are under way goes with the next,
 * so a lone outcome waits for nothing and a flood takes few statements. An outcome that the table refuses takes no
 * other with it: its row is failed instead.
 */
export class Completer {
  readonly #queue: Queue<Machine, unknown>
  readonly #by: string | null
  readonly #counts: Counts
  readonly #onError: (error: unknown, tick?: Tick) => void
  readonly #onSettled: (step: Step | undefined) => void
  #waiting: Ending[] = []
  #isBusy = false
  /** Outcomes that are not written yet. */
  size = 0
  /** What the database does not take is not tried again. */
  isForced = false

  /** @param onSettled called after each batch, with the step after which a row of it is due first, if any is */
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
    await undefined // In a moment, not now: handlers that end together go together.
    while (this.#waiting.length > 0) await this.#write(this.#waiting.splice(0, this.#next()))
    this.#isBusy = false
  }

  /** How many go next: the rows of one claim that take the same step, which is half the work, unless they are few. */
  #next(): number {
    const [first] = this.#waiting
    const other = this.#waiting.findIndex((ending) => !isAlike(ending, first!))
    return Math.min(BATCH, other < FEW_ALIKE ? this.#waiting.length : other)
  }

  async #write(batch: Ending[]): Promise<void> {
    try {
      const lost = await this.#queue.apply(batch, this.#by)
      let first: Step | undefined
      for (const ending of batch) {
        const written = !lost.has(ending.claim.id)
        if (written) this.#counts.stepped(ending.step)
        if (written && isSooner(ending.step, first)) first = ending.step
        this.#ended(ending, written ? ending.end : { how: 'lost' })
      }
      this.#onSettled(first)
    } catch (error) {
      if (isRefusal(error)) await this.#isolate(batch, error)
      else await this.#later(batch, error)
    }
  }

  /** The table refuses something in this batch: halves it until it stands alone. */
  async #isolate(batch: Ending[], error: unknown): Promise<void> {
    if (batch.length > 1) {
      const half = batch.length >> 1
      await this.#write(batch.slice(0, half))
      await this.#write(batch.slice(half))
      return
    }
    const [{ tick, end }] = batch as [Ending]
    this.#onError(error, tick)
    if (end.how === 'failed') {
      this.#dropped(batch)
      return
    }
    this.#counts.failed += 1
    const step = stepOf(this.#queue.machine, tick.claim, FAILED)
    await this.#write([
      {
        claim: tick.claim,
        step,
        tick,
        end: { how: 'failed', error: error instanceof Error ? error : new Error(String(error)) },
      },
    ])
  }

  /** The database does not answer: keeps the outcomes for as long as the leases surely hold. */
  async #later(batch: Ending[], error: unknown): Promise<void> {
    this.#onError(error)
    if (!this.isForced) await sleep(RETRY_MS)
    const now = this.isForced ? Number.POSITIVE_INFINITY : performance.now()
    const again = batch.filter(({ tick }) => tick.trustedUntil > now)
    this.#waiting.unshift(...again.map((ending) => ({ ...ending, isAgain: true })))
    this.#dropped(batch.filter(({ tick }) => tick.trustedUntil <= now))
  }

  #dropped(batch: readonly Ending[]): void {
    for (const ending of batch) this.#ended(ending, { how: 'lost' })
    this.#onSettled(undefined)
  }

  #ended({ tick, step }: Ending, end: TickEnd): void {
    this.size -= 1
    if (end.how === 'lost') this.#counts.lost += 1
    else if (end.how === 'settled' && step.event === '') this.#counts.again += 1
    tick.done?.(end)
  }
}

/**
 * Is it this row's own fault, so that the others of its batch are not to suffer? Otherwise the connection, the server
 * or a deadlock is to blame.
 */
function isRefusal(error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !/^(08|25|40|53|55|57|58|XX)/.test(code)
}

function isSooner(step: Step, than: Step | undefined): boolean {
  return step.afterSeconds !== null && (than === undefined || step.afterSeconds < than.afterSeconds!)
}
