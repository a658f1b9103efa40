import { elapsed } from '../base/elapsed.ts'

/** How often it is looked whether the trust is over: what runs after a suspend ends within a second. */
const LOOK_MS = 250

/** Until when a leader may believe that it leads: for `ms` after the moment of its last question that was answered. */
export class Trust {
  readonly #ms: number
  #until: number
  /** It looks even while a query hangs. */
  readonly #timer: NodeJS.Timeout

  /**
   * Begins now.
   * @param now a clock that counts suspended time
   */
  constructor(ms: number, onEnd: () => void, now = elapsed) {
    this.#ms = ms
    this.#until = now() + ms
    this.#timer = setInterval(() => {
      if (now() < this.#until) return
      this.end()
      onEnd()
    }, LOOK_MS)
  }

  /** @param askedAt by the same clock; an answer that arrives after that to a later question changes nothing */
  answered(askedAt: number): void {
    this.#until = Math.max(this.#until, askedAt + this.#ms)
  }

  end(): void {
    clearInterval(this.#timer)
  }
}
