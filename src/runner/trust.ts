/** Until when a leader may believe that it leads: for `ms` after the moment of its last question that was answered. */
export class Trust {
  readonly #ms: number
  readonly #onEnd: () => void
  #until = Number.NEGATIVE_INFINITY
  /** It fires even while a query hangs. */
  #timer: NodeJS.Timeout | undefined

  /** Begins now. */
  constructor(ms: number, onEnd: () => void) {
    this.#ms = ms
    this.#onEnd = onEnd
    this.answered(performance.now())
  }

  /** @param askedAt monotonic time; an answer that arrives after that to a later question changes nothing */
  answered(askedAt: number): void {
    if (askedAt + this.#ms <= this.#until) return
    this.#until = askedAt + this.#ms
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#onEnd, this.#until - performance.now())
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
