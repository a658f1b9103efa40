import { elapsed } from '../base/elapsed.ts'
import { asError } from './as-error.ts'
import { ClaimLost, type SomeClaim } from './claimed.ts'
import { Completer } from './completer.ts'
import type { ExecutorOptions } from './executor-options.ts'
import { handlerFor, stepAfter } from './giving-up.ts'
import type { Context } from './handlers.ts'
import type { Machine } from './machine.ts'
import { again, Ended, FAILED, Failed, PUT_BACK, PutBack, type Step, stepOf, TryAgainLater } from './outcome.ts'
import { DeadlineExceeded, Tick, type TickEnd } from './tick.ts'

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
   * Starts the handler of a row that was just claimed (`handlerFor`), or gives the row up.
   * @param claimedAt by `elapsed`, before the claim was requested
   */
  start(claim: SomeClaim, claimedAt: number, done?: (end: TickEnd) => void): void {
    const { model, onProgress } = this.#options
    const tick = this.#tickOf(claim, claimedAt, done)
    this.#running.add(tick)
    if (onProgress) tick.progress()
    const work = handlerFor(model, claim) as ((claim: SomeClaim, context: Context) => unknown) | undefined
    if (!work) {
      const vain = `given up after ${claim.attempts - 1} attempts that did not finish`
      this.#fail(tick, new Error(`${model.machine.name} ${claim.id}: ${vain}`))
      return
    }
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
    const passed = elapsed()
    for (const tick of this.#running) {
      if (tick.isLost) continue
      if (tick.trustedUntil < passed) this.#lose(tick, 'its lease could not be renewed')
      else if (tick.deadlineAt < now && !tick.stopped) this.#overdue(tick)
    }
  }

  /** Renews all leases in one statement and drops rows that are no longer ours. */
  async renew(): Promise<void> {
    const held = [...this.#running].filter(({ isLost }) => !isLost)
    if (held.length === 0) return
    const askedAt = elapsed()
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
      else
        this.#end(tick, stepAfter(this.#options.model, tick.claim, answer), {
          how: isRelease(answer) ? 'putBack' : 'settled',
        })
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
    this.#end(tick, stepAfter(this.#options.model, tick.claim, FAILED), { how: 'failed', error })
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

/** Whether this answer leaves the row undone. */
const isRelease = (answer: unknown) => answer instanceof PutBack || answer instanceof Failed

function isPromise(answer: unknown): answer is Promise<unknown> {
  return typeof answer === 'object' && answer !== null && 'then' in answer && typeof answer.then === 'function'
}
