/**
 * The two ways to stop, as signals that every sleep and wait takes: `drain` (take no new work, let what runs come to
 * its end) and `force` (end what runs now). `capMs` bounds how long a drain may still wait for hooks: Infinity for a
 * normal stop, less when a newer runner waits.
 *
 * Anybody may send a signal, or kill whom we work for: a hook, too. A stop is `isExplained` when it came about in a way
 * that no hook has: a newer runner asked for it, the lead was lost, or the time was over.
 */
export class Stop {
  readonly #drain = new AbortController()
  readonly #force = new AbortController()
  readonly #listeners = new Set<() => void>()
  #deadline = Number.POSITIVE_INFINITY
  #isExplained = false
  #reason: string | undefined
  /** The stop of the whole that this is a part of. */
  #whole: Stop | undefined

  get drain(): AbortSignal {
    return this.#drain.signal
  }
  get force(): AbortSignal {
    return this.#force.signal
  }
  /** What is left of the bound, in ms: it runs from the request, not from when somebody begins to wait. */
  get capMs(): number {
    return Math.max(0, this.#deadline - performance.now())
  }
  /** Did it come about without any hook? Once that is known it stays so. */
  get isExplained(): boolean {
    return this.#isExplained || this.#whole?.isExplained === true
  }
  /** What brought it about first; whatever came later changes nothing. */
  get reason(): string | undefined {
    return this.#reason ?? this.#whole?.reason
  }
  /** Notes what brings it about, right before the request. */
  because(reason: string): this {
    if (this.reason === undefined) this.#reason = reason
    return this
  }
  /**
   * Starts the drain, or shortens one that is under way. What is in a hurry is explained, unless the caller says no.
   */
  requestDrain(capMs = Number.POSITIVE_INFINITY, isExplained = Number.isFinite(capMs)): void {
    this.#isExplained ||= isExplained
    const first = !this.#drain.signal.aborted
    const deadline = performance.now() + capMs
    const shorter = deadline < this.#deadline
    this.#deadline = Math.min(this.#deadline, deadline)
    this.#drain.abort()
    if (first || shorter) for (const listener of this.#listeners) listener()
  }
  /** Calls back when a drain begins or becomes shorter; at once when one is under way. Returns the way to stop that. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    if (this.#drain.signal.aborted) listener()
    return () => this.#listeners.delete(listener)
  }
  requestForce(isExplained = true): void {
    this.requestDrain(0, isExplained)
    this.#force.abort()
  }
  /**
   * A stop for a part of the work: what is asked of the whole is asked of the part, too, but not the other way round.
   */
  part(): Stop {
    const part = new Stop()
    part.#whole = this
    this.watch(() => part.requestDrain(this.capMs, false))
    if (this.force.aborted) part.requestForce(false)
    this.force.addEventListener('abort', () => part.requestForce(false), { once: true })
    return part
  }
}
