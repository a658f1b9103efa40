import { backoff } from '../base/backoff.ts'

/**
 * When actors die at work, attempts are counted and other work need not wait. An actor that never gets work is broken.
 */
const LONGEST_MS = { atWork: 1_000, idle: 10_000 } as const

/** How long a pool starts no actor because its actors die one after another. */
export class CrashPause {
  /** Deaths since an actor last made progress. */
  crashes = 0
  #until = 0

  get isOver(): boolean {
    return performance.now() >= this.#until
  }

  /** Records that an actor died or could not be started. @returns how long to start none */
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
