import type { Bell } from '../base/abort.ts'
import { EXIT } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { Stop } from '../base/stop.ts'

/** A terminal and the program that started us may both pass on one key press: signals this close together are one. */
const SAME_PRESS_MS = 150
/**
 * A newer runner asks for the lead in our row and signals right after; we may have handed over before the signal comes.
 */
const LATE_MS = 5_000

interface SignalsOptions {
  /** Drain so long after the start. */
  readonly runForMs?: number | undefined
  /** How long hooks may go on when the command that started us dies; undefined: no command of ours did. */
  readonly orphanMs?: number | undefined
  /** A live view answers a Ctrl-C. */
  readonly isWatched?: boolean
}

/**
 * The only place that handles signals: the first drains, the second kills hooks now, the third leaves at once (the next
 * start reaps). Handlers only request a stop; the loops act. The handlers stay until the process ends: one that is
 * leaving in order must not die of a late signal. The end of `--run-for`, on the monotonic clock, is one more reason to
 * drain; the death of the command that we work for is another.
 */
export class Signals {
  #stop = new Stop()
  #count = 0
  #last = Number.NEGATIVE_INFINITY
  /** Until then the first SIGTERM comes from the newer runner to which we have handed over. */
  #owedUntil = Number.NEGATIVE_INFINITY
  #hadTerm = false
  /** What has ended the run, and not only one lead. */
  #over: { readonly reason: string; readonly capMs: number } | undefined

  constructor(bell: Bell, log: Log, { runForMs, orphanMs, isWatched }: SignalsOptions = {}) {
    const onSignal = (signal: NodeJS.Signals) => {
      const now = performance.now()
      if (signal === 'SIGTERM' && now < this.#owedUntil) {
        this.#owedUntil = Number.NEGATIVE_INFINITY
        log.info('SIGTERM: that of the newer runner, to which the lead was handed over')
        return
      }
      this.#hadTerm ||= signal === 'SIGTERM'
      if (now - this.#last < SAME_PRESS_MS) return
      this.#last = now
      this.#count += 1
      if (this.#count === 1) {
        // Only a person presses keys: who sends another signal knows what it means.
        const again = signal === 'SIGINT' ? ' (again: kill them, a third time: leave at once)' : ''
        const level = isWatched && signal === 'SIGINT' ? 'debug' : 'info'
        log[level](`${signal}: draining; running hooks may finish${again}`)
        this.#stop.because(signal).requestDrain()
      } else if (this.#count === 2) {
        log.warn(`${signal}: killing hooks now`)
        process.exitCode = EXIT.interrupted
        this.#stop.requestForce(false)
      } else {
        log.error(`${signal}: leaving at once; the next start reaps what is left`)
        process.exit(EXIT.interrupted)
      }
      bell.wake()
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
    const end = (reason: string, capMs: number) => {
      this.#over = { reason, capMs }
      this.#stop.because(reason).requestDrain(capMs, true)
      bell.wake()
    }
    if (runForMs !== undefined)
      setTimeout(() => end('the time of --run-for is over', Number.POSITIVE_INFINITY), runForMs).unref()
    // Without a channel we were started by somebody else, who inherited that command's environment.
    if (orphanMs === undefined || process.send === undefined) return
    const onOrphaned = () => {
      const reason = 'the command that started this runner is gone'
      log.info(`${reason}: draining; running hooks have ${orphanMs / 1_000} s`)
      end(reason, orphanMs)
    }
    process.once('disconnect', onOrphaned)
    process.channel?.unref() // Waiting for the news is no reason to stay.
    if (!process.connected) onOrphaned() // It died while we were starting.
  }

  /** How this round is stopped. */
  get stop(): Stop {
    return this.#stop
  }

  /**
   * Begins a new round: the signals that ended the last one (a newer runner sends one, too) no longer count.
   * @param isSignalled the newer runner that has our lead has signalled us, or is about to
   * @returns false, and nothing changes, when somebody else told us to stop as well
   */
  newRound(isSignalled: boolean): boolean {
    const theirs = isSignalled && this.#hadTerm ? 1 : 0
    if (this.#count > theirs) return false
    this.#owedUntil = isSignalled && !this.#hadTerm ? performance.now() + LATE_MS : Number.NEGATIVE_INFINITY
    this.#stop = new Stop()
    this.#count = 0
    this.#hadTerm = false
    this.#last = Number.NEGATIVE_INFINITY
    if (this.#over) this.#stop.because(this.#over.reason).requestDrain(this.#over.capMs, true)
    return true
  }
}
