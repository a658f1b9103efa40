/**
 * The two ways to stop, as signals that every sleep and wait takes: `drain` (take no new work, let what runs come to its end) and `force`
 * (end what runs now). `capMs` bounds how long a drain may wait for hooks: Infinity for a normal stop, less when a newer runner waits.
 */
export class Stop {
  readonly #drain = new AbortController()
  readonly #force = new AbortController()
  readonly #listeners = new Set<() => void>()
  capMs = Number.POSITIVE_INFINITY

  get drain(): AbortSignal {
    return this.#drain.signal
  }
  get force(): AbortSignal {
    return this.#force.signal
  }
  /** Starts the drain, or shortens one that is under way. */
  requestDrain(capMs = Number.POSITIVE_INFINITY): void {
    const first = !this.#drain.signal.aborted
    const shorter = capMs < this.capMs
    this.capMs = Math.min(this.capMs, capMs)
    this.#drain.abort()
    if (first || shorter) for (const listener of this.#listeners) listener()
  }
  /** Calls back when a drain begins or becomes shorter; at once when one is under way. Returns the way to stop that. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    if (this.#drain.signal.aborted) listener()
    return () => this.#listeners.delete(listener)
  }
  requestForce(): void {
    this.requestDrain(0)
    this.#force.abort()
  }
}
