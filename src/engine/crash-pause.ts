import { backoff } from '../base/backoff.ts'

/**
 * What an actor died of at work has its attempts counted, and other work need not wait for it. One that comes to no
 * work at all is broken.
 */
const LONGEST_MS = { atWork: 1_000, idle: 10_000 } as const

/** How long a pool starts nobody, because its actors die one after another. */
export class CrashPause {
  /** Deaths since an actor last got somewhere. */
  crashes = 0
  #until = 0

  get isOver(): boolean {
    return performance.now() >= this.#until
  }

  /** One has died, or could not be started. Returns for how long none is. */
  crashed(how: keyof typeof LONGEST_MS): number {
    this.crashes += 1
    const pauseMs = backoff(this.crashes, { baseMs: 100, maxMs: LONGEST_MS[how] })
    this.#until = performance.now() + pauseMs
    return pauseMs
  }

  gotSomewhere(): void {
    this.crashes = 0
  }
}
