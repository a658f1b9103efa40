import { uptime } from 'node:os'

/** What the clocks show, in milliseconds. */
export interface Clocks {
  /** Stands still while the machine is suspended. */
  readonly monotonic: number
  /** Goes on meanwhile (CLOCK_BOOTTIME on Linux), but not while a virtual machine is paused. */
  readonly boot: number
  /** Is put right after that, too. Somebody may also set it. */
  readonly wall: number
}

/** Clocks differ by less than this from one look to the next, unless the machine was away. */
const AWAY_MS = 1_000

/** Adds to the monotonic clock what the other two say it has missed. A clock that is set back changes nothing. */
export class Elapsed {
  readonly #read: () => Clocks
  #last: Clocks
  #awayMs = 0

  constructor(read: () => Clocks) {
    this.#read = read
    this.#last = read()
  }

  now(): number {
    const { monotonic, boot, wall } = this.#read()
    const last = this.#last
    const missed = Math.max(boot - last.boot, wall - last.wall) - (monotonic - last.monotonic)
    if (missed > AWAY_MS) this.#awayMs += missed
    this.#last = { monotonic, boot, wall }
    return monotonic + this.#awayMs
  }
}

const ours = new Elapsed(() => ({ monotonic: performance.now(), boot: uptime() * 1_000, wall: Date.now() }))

/**
 * Milliseconds, as by `performance.now()`, and also those while the machine was suspended: what somebody else may
 * have used to take over our work. Compare it with other answers of this function only.
 */
export const elapsed = (): number => ours.now()
