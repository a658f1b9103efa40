import type { Bell } from '../base/abort.ts'
import { EXIT } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { Stop } from '../base/stop.ts'

/**
 * A terminal and the program that started us may both pass on one key press: signals this close together are one.
 */
const SAME_PRESS_MS = 150

/**
 * The only place that handles signals: the first drains, the second kills hooks now, the third leaves at once (the next start sweeps up).
 * Handlers only pull these levers; the loops act. They stay until the process ends: one that is leaving in order must not die of a late signal.
 * The end of `--run-for`, on the monotonic clock, is one more reason to drain.
 */
export class Signals {
  #stop = new Stop()
  #count = 0
  #last = Number.NEGATIVE_INFINITY
  #isOver = false

  constructor(bell: Bell, log: Log, runForMs: number | undefined) {
    const onSignal = (signal: NodeJS.Signals) => {
      const now = performance.now()
      if (now - this.#last < SAME_PRESS_MS) return
      this.#last = now
      this.#count += 1
      if (this.#count === 1) {
        log.info(`${signal}: draining; running hooks may finish (again: kill them, a third time: leave at once)`)
        this.#stop.requestDrain()
      } else if (this.#count === 2) {
        log.warn(`${signal}: killing hooks now`)
        process.exitCode = EXIT.interrupted
        this.#stop.requestForce()
      } else {
        log.error(`${signal}: leaving at once; the next start cleans up`)
        process.exit(EXIT.interrupted)
      }
      bell.wake()
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
    const onTime = () => {
      this.#isOver = true
      this.#stop.requestDrain()
      bell.wake()
    }
    if (runForMs !== undefined) setTimeout(onTime, runForMs).unref()
  }

  /** The levers of this round. */
  get stop(): Stop {
    return this.#stop
  }

  /** New levers; the signals that ended an earlier one (a newer runner sends one, too) count no more. */
  newRound(): void {
    this.#stop = new Stop()
    this.#count = 0
    this.#last = Number.NEGATIVE_INFINITY
    if (this.#isOver) this.#stop.requestDrain()
  }
}
