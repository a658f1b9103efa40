import { backoff } from '../base/backoff.ts'
import { ClaimLost, type SomeClaim } from './claimed.ts'
import { Completer } from './completer.ts'
import type { Counts } from './counts.ts'
import type { Context, Model } from './handlers.ts'
import type { Machine } from './machine.ts'
import {
  again,
  Ended,
  FAILED,
  Failed,
  failed,
  isLethal,
  isSpent,
  PUT_BACK,
  PutBack,
  retryOf,
  type Step,
  stepOf,
  TryAgainLater,
} from './outcome.ts'
import type { Queue } from './queue.ts'
import type { Sql } from './sql.ts'
import { DeadlineExceeded, Tick, type TickEnd } from './tick.ts'

/** Reports an error, and the row concerned, if any. */
export type OnError = (error: Error, claim?: SomeClaim) => void

export interface ExecutorOptions {
  readonly model: Model
  readonly queue: Queue<Machine, unknown>
  /** Passed to handlers. */
  readonly sql: Sql
  readonly log?: ((line: string) => void) | undefined
  readonly leaseSeconds: number
  readonly deadlineMs: number
  /**
   * A tick ends only when its handler has returned: the row stays claimed until then, even after its signal has
   * aborted. For handlers that own processes.
   */
  readonly waitForHandlers?: boolean | undefined
  /** Called at a handler's start and at each progress with how long it may go on until the next. */
  readonly onProgress?: ((forMs: number) => void) | undefined
  /** How to claim the next row together with the end of this one, if that is wanted. */
  readonly next?: Context['next']
  readonly by: string | null
  readonly counts: Counts
  readonly onError: OnError
  /** Something ended, so slots may be free. `first`: the step after which a row of ours is due again first. */
  readonly onSlotsFree: (first?: Step) => void
}

/**
 * The rows of one model that this process holds: runs their handlers, keeps their leases and settles their outcomes.
 */
export class Executor {
  readonly #options: ExecutorOptions
  readonly #running = new Set<Tick>()
  readonly #completer: Completer

  constructor(options: ExecutorOptions) {
    this.#options = options
    const { queue, by, counts, onSlotsFree } = options
    this.#completer = new Completer({
      queue,
      by,
      counts,
      onError: (error, tick) => this.#report(error, tick?.claim),
      onSettled: onSlotsFree,
    })
  }

  /** Running handlers. */
  get running(): number {
    return this.#running.size
  }

  /** Outcomes that are not yet written. */
  get unsettled(): number {
    return this.#completer.size
  }

  /**
   * Starts the handler of a row that was just claimed. A row that has ended too many owners is given up instead: by the
   * model's own work for that, or, without one and when that has failed too often as well, by its graph alone.
   * @param claimedAt monotonic time before the claim was requested
   */
  start(claim: SomeClaim, claimedAt: number, done?: (end: TickEnd) => void): void {
    const { model, onProgress } = this.#options
    const tick = this.#tickOf(claim, claimedAt, done)
    this.#running.add(tick)
    if (onProgress) tick.progress()
    const isGivenUp = isLethal(model.machine, claim)
    if (isGivenUp && (!model.giveUp || isSpent(model.machine, claim))) {
      this.#fail(
        tick,
        new Error(
          `${model.machine.name} ${claim.id}: given up after ${claim.attempts - 1} attempts that did not finish`,
        ),
      )
      return
    }
    const work = (isGivenUp ? model.giveUp : model.tick) as (claim: SomeClaim, context: Context) => unknown
    try {
      const answer = work(claim, tick)
      if (isPromise(answer)) {
        answer.then(
          (value) => this.#answered(tick, value),
          (error) => this.#threw(tick, error),
        )
      } else this.#answered(tick, answer)
    } catch (error) {
      this.#threw(tick, error)
    }
  }

  /** Releases a claimed row that is not to be worked on. */
  putBack(claim: SomeClaim, claimedAt: number): void {
    this.#completer.add(this.#tickOf(claim, claimedAt), stepOf(this.#machine, claim, PUT_BACK), { how: 'putBack' })
  }

  /**
   * Stops every handler and releases its row without counting the attempt; a handler that is awaited decides by its
   * answer. From now on failed writes are not repeated.
   */
  putAllBack(reason: Error): void {
    this.#completer.isForced = true
    for (const tick of this.#running) {
      if (tick.isLost) continue
      tick.stop(reason)
      if (!this.#options.waitForHandlers)
        this.#end(tick, stepOf(this.#machine, tick.claim, PUT_BACK), { how: 'putBack' })
    }
  }

  /** Stops handlers past their deadline and drops rows whose lease may have ended. To be called often. */
  check(): void {
    const now = performance.now()
    for (const tick of this.#running) {
      if (tick.isLost) continue
      if (tick.trustedUntil < now) this.#lose(tick, 'its lease could not be renewed')
      else if (tick.deadlineAt < now && !tick.stopped) this.#overdue(tick)
    }
  }

  /** Renews all leases in one statement and drops rows that are no longer ours. */
  async renew(): Promise<void> {
    const held = [...this.#running].filter(({ isLost }) => !isLost)
    if (held.length === 0) return
    const askedAt = performance.now()
    const ours = await this.#options.queue.renew(
      held.map(({ claim }) => claim),
      this.#options.leaseSeconds,
    )
    for (const tick of held) {
      if (ours.has(tick.claim.id)) tick.trustedUntil = askedAt + this.#trustMs
      else if (this.#running.has(tick) && !tick.isLost) this.#lose(tick, 'it belongs to somebody else by now')
    }
  }

  get #machine(): Machine {
    return this.#options.model.machine
  }

  /** A sixth of the lease remains for stopping. */
  get #trustMs(): number {
    return (this.#options.leaseSeconds * 1000 * 5) / 6
  }

  #tickOf(claim: SomeClaim, claimedAt: number, done?: (end: TickEnd) => void): Tick {
    const { model, sql, log, deadlineMs, onProgress, next } = this.#options
    return new Tick(claim, {
      ...{ sql, log, done, onProgress, next },
      deadlineMs: model.machine.states[claim.state]?.deadlineMs ?? deadlineMs,
      trustedUntil: claimedAt + this.#trustMs,
    })
  }

  #answered(tick: Tick, answer: unknown): void {
    if (!this.#running.has(tick)) return // It was stopped before: its answer is dropped.
    try {
      if (answer instanceof Ended)
        this.#over(tick, { how: answer.isReleased ? 'putBack' : 'settled', next: answer.next })
      else if (tick.isLost) this.#drop(tick)
      else if (tick.stopped instanceof DeadlineExceeded) this.#fail(tick, tick.stopped)
      else if (performance.now() > tick.deadlineAt) this.#overdue(tick, true)
      else this.#end(tick, this.#stepOf(tick, answer), { how: isRelease(answer) ? 'putBack' : 'settled' })
    } catch (error) {
      this.#fail(tick, asError(error))
    }
  }

  #threw(tick: Tick, thrown: unknown): void {
    if (!this.#running.has(tick)) return
    if (thrown instanceof TryAgainLater) this.#answered(tick, again(thrown.afterMs))
    else if (thrown instanceof ClaimLost || tick.isLost) this.#lose(tick, asError(thrown).message, true)
    else if (tick.stopped && !(tick.stopped instanceof DeadlineExceeded)) this.#answered(tick, PUT_BACK)
    else this.#fail(tick, tick.stopped ?? asError(thrown))
  }

  #overdue(tick: Tick, hasReturned = false): void {
    const { id, state } = tick.claim
    const error = new DeadlineExceeded(
      `${this.#machine.name} ${id}: the handler of "${state}" was not done at its deadline`,
    )
    tick.stop(error)
    if (hasReturned || !this.#options.waitForHandlers) this.#fail(tick, error)
  }

  #fail(tick: Tick, error: Error): void {
    this.#options.counts.failed += 1
    this.#report(error, tick.claim)
    this.#end(tick, this.#stepOf(tick, FAILED), { how: 'failed', error })
  }

  /**
   * When work precedes the giving up of a row, a failure alone does not give it up; the next claim does. That work has
   * as many attempts as the row had, with delays that grow anew.
   */
  #stepOf({ claim }: Tick, answer: unknown): Step {
    const { giveUp } = this.#options.model
    const isGivenUp = isLethal(this.#machine, claim)
    if (giveUp && answer === undefined && isGivenUp) return stepOf(this.#machine, claim, FAILED)
    if (!giveUp || answer !== FAILED || isSpent(this.#machine, { ...claim, attempts: claim.attempts + 1 }))
      return stepOf(this.#machine, claim, answer)
    const { retryAfterMs, giveUp: { after = 0 } = {} } = this.#machine.states[claim.state] ?? {}
    const attempts = isGivenUp ? claim.attempts - after : claim.attempts
    return stepOf(this.#machine, claim, failed(backoff(attempts, retryOf(retryAfterMs))))
  }

  #lose(tick: Tick, why: string, hasReturned = false): void {
    tick.stop(tick.isLost ? tick.stopped! : new ClaimLost(`${this.#machine.name} ${tick.claim.id}: ${why}`))
    if (hasReturned || !this.#options.waitForHandlers) this.#drop(tick)
  }

  #drop(tick: Tick): void {
    this.#options.counts.lost += 1
    this.#over(tick, { how: 'lost' })
  }

  #over(tick: Tick, end: TickEnd): void {
    this.#running.delete(tick)
    tick.done?.(end)
    this.#options.onSlotsFree()
  }

  #end(tick: Tick, step: Step, end: TickEnd): void {
    this.#running.delete(tick)
    this.#completer.add(tick, step, end)
    this.#options.onSlotsFree()
  }

  /** An error in the reporter must not stop the work. */
  #report(error: unknown, claim?: SomeClaim): void {
    try {
      this.#options.onError(asError(error), claim)
    } catch {
      // There is nobody to report it to.
    }
  }
}

/** Does this answer leave the row undone? */
const isRelease = (answer: unknown) => answer instanceof PutBack || answer instanceof Failed

function isPromise(answer: unknown): answer is Promise<unknown> {
  return typeof answer === 'object' && answer !== null && 'then' in answer && typeof answer.then === 'function'
}

/** The thrown value as an Error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`not an Error was thrown: ${String(thrown)}`, { cause: thrown })
}
