/**
 * The two ways to stop, as signals that every sleep and wait takes: `drain` (take no new work, let running work finish)
 * and `force` (end running work now). `capMs` bounds how long a drain may wait for hooks: Infinity for a normal stop,
 * less when a newer runner waits.
 *
 * Any process may send a signal or kill our supervisor, hooks included. A stop `isExplained` when no hook can have
 * caused it: a newer runner asked for it, the lead was lost, or the time was over.
 */
export class Stop {
  readonly #drain = new AbortController()
  readonly #force = new AbortController()
  readonly #listeners = new Set<() => void>()
  #deadline = Number.POSITIVE_INFINITY
  #isExplained = false
  #reason: string | undefined
  /** The stop of the whole, when this one is for a part. */
  #whole: Stop | undefined

  get drain(): AbortSignal {
    return this.#drain.signal
  }
  get force(): AbortSignal {
    return this.#force.signal
  }
  /** What is left of the bound, in ms, counted from the request. */
  get capMs(): number {
    return Math.max(0, this.#deadline - performance.now())
  }
  /** Whether certainly no hook caused it. Once true it stays so. */
  get isExplained(): boolean {
    return this.#isExplained || this.#whole?.isExplained === true
  }
  /** The first cause; later ones change nothing. */
  get reason(): string | undefined {
    return this.#reason ?? this.#whole?.reason
  }
  /** Records the cause, right before the request. */
  because(reason: string): this {
    if (this.reason === undefined) this.#reason = reason
    return this
  }
  /** Starts the drain, or shortens it. A bounded drain is explained, unless the caller says otherwise. */
  requestDrain(capMs = Number.POSITIVE_INFINITY, isExplained = Number.isFinite(capMs)): void {
    this.#isExplained ||= isExplained
    const first = !this.#drain.signal.aborted
    const deadline = performance.now() + capMs
    const shorter = deadline < this.#deadline
    this.#deadline = Math.min(this.#deadline, deadline)
    this.#drain.abort()
    if (first || shorter) for (const listener of this.#listeners) listener()
  }
  /**
   * Calls back when a drain begins or gets shorter; at once when one is under way. @returns a function that ends this
   */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    if (this.#drain.signal.aborted) listener()
    return () => this.#listeners.delete(listener)
  }
  requestForce(isExplained = true): void {
    this.requestDrain(0, isExplained)
    this.#force.abort()
  }
  /** A stop for a part of the work: requests to the whole reach the part, but not the reverse. */
  part(): Stop {
    const part = new Stop()
    part.#whole = this
    this.watch(() => part.requestDrain(this.capMs, false))
    if (this.force.aborted) part.requestForce(false)
    this.force.addEventListener('abort', () => part.requestForce(false), { once: true })
    return part
  }
}
