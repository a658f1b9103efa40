/** The delay between two checks that find nothing: at first, and at most. */
const SHORTEST_MS = 500
const LONGEST_MS = 5_000
const GROWTH = 1.5

/** When to check for due rows next: at once after finding some, with growing delay while there are none. Monotonic. */
export class Pace {
  #at = 0
  #delay = SHORTEST_MS
  /** When a row is known to become due; in the past when none is known. */
  #known = 0

  /** Milliseconds until the next check; 0: now. */
  get waitMs(): number {
    return Math.max(0, this.#at - performance.now())
  }

  found(): void {
    this.#at = 0
    this.#delay = SHORTEST_MS
  }

  foundNothing(): void {
    const now = performance.now()
    this.#at = Math.min(now + this.#delay, this.#known > now ? this.#known : Number.POSITIVE_INFINITY)
    this.#delay = Math.min(this.#delay * GROWTH, LONGEST_MS)
  }

  /** A row is known to be due in `ms`. */
  soon(ms = 0): void {
    const now = performance.now()
    if (this.#known <= now || now + ms < this.#known) this.#known = now + ms
    this.#at = Math.min(this.#at, now + ms)
  }
}
