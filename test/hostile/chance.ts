import type { Random } from '../soak/random.ts'
import { HOSTILE_NAMES } from '../support/hostile-names.ts'
import { PIECES } from './adversarial.ts'

/** What a seed chooses from. */
export class Chance {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  /** A whole number from 0 up to `below`. */
  below(below: number): number {
    return Math.floor(this.#random.next() * below)
  }

  /** Does it happen, one time in so many? */
  onceIn(times: number): boolean {
    return this.below(times) === 0
  }

  of<T>(all: readonly T[]): T {
    return all[this.below(all.length)]!
  }

  /** So many, in any order; fewer when there are not so many. */
  some<T>(all: readonly T[], count: number): T[] {
    const left = [...all]
    return Array.from({ length: Math.min(count, left.length) }, () => left.splice(this.below(left.length), 1)[0]!)
  }

  /** A name that means something elsewhere, or parts of some. */
  name(): string {
    const one = this.of(HOSTILE_NAMES)
    if (this.below(3) > 0) return one
    return (one + this.of(PIECES) + this.of(HOSTILE_NAMES)).slice(0, 1 + this.below(300))
  }

  /** Text of pieces that are hard to read: some once, some again and again. */
  text(most: number): string {
    let text = ''
    for (let parts = 1 + this.below(12); parts > 0; parts -= 1) {
      const piece = this.onceIn(4) ? this.name() : this.of(PIECES)
      text += this.onceIn(3) ? piece.repeat(1 + this.below(most / 4 / piece.length + 1)) : piece
    }
    return text.slice(0, most)
  }

  /** A text into which such pieces were put, or from which parts were taken. */
  damaged(text: string): string {
    let damaged = text
    for (let times = 1 + this.below(4); times > 0; times -= 1) {
      const at = this.below(damaged.length + 1)
      const rest = damaged.slice(this.onceIn(2) ? at : at + this.below(damaged.length / 4))
      damaged = damaged.slice(0, at) + this.text(this.onceIn(8) ? 100_000 : 60) + rest
    }
    return damaged
  }
}
