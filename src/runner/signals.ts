import type { Bell } from '../base/abort.ts'
import { EXIT } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { Stop } from '../base/stop.ts'
import { callOffStop, onStopSignals } from '../base/stop-signals.ts'

/** A terminal and the program that started us may both pass on one key press: signals this close together are one. */
const SAME_PRESS_MS = 150
/**
 * A newer runner asks for the lead in our row and signals right after; we may have handed over before the signal comes.
 */
const LATE_MS = 5_000

/** The most that a stop needs after its hooks: to kill them, to write what they made, to exit. */
const RESERVE_MS = 5_000

/** Killing running hooks takes at least this long. */
const LEAST_MS = 2_000

/** The part of a stop's time that hooks may use. */
const hooksShare = (stopMs: number) => stopMs - Math.min(RESERVE_MS, stopMs / 2)

interface SignalsOptions {
  /** Drain this long after the start. */
  readonly runForMs?: number | undefined
  /** How long hooks may go on when the command that started us dies; undefined: no command of ours did. */
  readonly orphanMs?: number | undefined
  /** How long any stop may take (`STOP_SECONDS`); undefined: what is left of the hooks' timeouts. */
  readonly stopMs?: number | undefined
  /** A live view responds to Ctrl-C. */
  readonly isWatched?: boolean
}

/**
 * The only place that handles signals: the first drains, the second kills hooks now, the third exits at once (the next
 * start reaps). Handlers only request a stop; the loops act. The handlers stay until the process ends: one that is
 * exiting in order must not die of a late signal. The end of `--run-for`, on the monotonic clock, is one more reason to
 * drain; the death of the command that we work for is another.
 */
export class Signals {
  #stop = new Stop()
  #count = 0
  #last = Number.NEGATIVE_INFINITY
  /** Until then the next SIGTERM comes from the newer runner to which we have handed over. */
  #owedUntil = Number.NEGATIVE_INFINITY
  #hadTerm = false
  /** The first SIGTERM of this round comes from a newer runner, and does not count as a key press. */
  #isExpected = false
  /** All signals, including those of one key press, except for the expected one of a newer runner. */
  #received = 0
  /** What has ended the run, and not only one lead. */
  #over: { readonly reason: string; readonly capMs: number } | undefined

  /** Ends the run, and not only a lead: what runs may finish, as at every stop, but has no longer than this. */
  readonly end: (reason: string, capMs?: number) => void

  constructor(bell: Bell, log: Log, { runForMs, orphanMs, stopMs, isWatched }: SignalsOptions = {}) {
    const most = (capMs: number) => Math.min(capMs, stopMs === undefined ? capMs : hooksShare(stopMs))
    const drain = (reason: string, capMs = Number.POSITIVE_INFINITY, isExplained = false) => {
      this.#stop.because(reason).requestDrain(most(capMs), isExplained)
      if (stopMs !== undefined) this.#limit(stopMs, bell, log)
      bell.wake()
    }
    const onSignal = (signal: NodeJS.Signals) => {
      const now = performance.now()
      const theirs = signal === 'SIGTERM' ? this.#newerRunners(now) : undefined
      if (theirs) {
        log.info('SIGTERM: that of the newer runner, which takes over')
        if (theirs === 'of now') drain('a newer runner takes over')
        return
      }
      this.#hadTerm ||= signal === 'SIGTERM'
      this.#received += 1
      if (now - this.#last < SAME_PRESS_MS) return
      this.#last = now
      this.#count += 1
      if (this.#count === 1) {
        // Only people press keys: whoever sends another signal knows what it means.
        const again = signal === 'SIGINT' ? ' (again: kill them, a third time: exit at once)' : ''
        const level = isWatched && signal === 'SIGINT' ? 'debug' : 'info'
        log[level](`${signal}: draining; running hooks may finish${again}`, { event: 'runner.drains', cause: signal })
        drain(signal)
      } else if (this.#count === 2) {
        log.warn(`${signal}: killing hooks now`, { event: 'runner.kills', cause: signal })
        process.exitCode = EXIT.interrupted
        this.#stop.requestForce(false)
      } else {
        log.error(`${signal}: exiting at once; the next start reaps what is left`)
        process.exit(EXIT.interrupted)
      }
      bell.wake()
    }
    onStopSignals(onSignal)
    this.end = (reason, capMs = Number.POSITIVE_INFINITY) => {
      this.#over = { reason, capMs: most(capMs) }
      drain(reason, capMs, true)
    }
    if (runForMs !== undefined) setTimeout(() => this.end('the time of --run-for is over'), runForMs).unref()
    // Without a channel somebody else started us, who inherited that command's environment.
    if (orphanMs === undefined || process.send === undefined) return
    const onOrphaned = () => {
      const reason = 'the command that started this runner is gone'
      log.info(`${reason}: draining; running hooks have ${orphanMs / 1_000} s`, {
        ...{ event: 'runner.drains', cause: reason },
      })
      this.end(reason, orphanMs)
    }
    process.once('disconnect', onOrphaned)
    process.channel?.unref() // Waiting for this must not keep the process alive.
    if (!process.connected) onOrphaned() // It died while we were starting.
  }

  /** Ends a stop in time: hooks are killed when their share is over, and then this process exits. */
  #limit(stopMs: number, bell: Bell, log: Log): void {
    const stop = this.#stop
    const reserve = stopMs - hooksShare(stopMs)
    const force = () => {
      if (stop !== this.#stop || stop.force.aborted) return
      log.warn(`STOP_SECONDS=${stopMs / 1_000} is over: killing what still runs`)
      stop.requestForce(false)
      bell.wake()
    }
    const leave = () => {
      if (stop !== this.#stop) return
      log.error('STOP_SECONDS is over: exiting at once; the guardian ends what is left')
      process.exit()
    }
    setTimeout(force, hooksShare(stopMs) + reserve / 3).unref()
    setTimeout(leave, Math.max(stopMs, LEAST_MS)).unref()
  }

  /** How this round is stopped. */
  get stop(): Stop {
    return this.#stop
  }

  /** The newer runner to which we have handed over is gone: from now on a SIGTERM is a user's again. */
  expectNone(): void {
    this.#owedUntil = Number.NEGATIVE_INFINITY
  }

  /**
   * A newer runner asks for the lead, and has signalled us or is about to: we drain for that signal, but it does not
   * count as a user's.
   */
  expectOne(): void {
    if (this.#isExpected) return
    this.#isExpected = true
    if (!this.#hadTerm) return
    this.#received -= 1
    if (this.#count > 1) return // Killed hooks stay killed.
    this.#count = 0
    this.#last = Number.NEGATIVE_INFINITY
  }

  /** Whether a SIGTERM is a newer runner's: of the one that takes over now, or a late one after a handover. */
  #newerRunners(now: number): 'of now' | 'late' | undefined {
    if (this.#isExpected && !this.#hadTerm) {
      this.#hadTerm = true
      return 'of now'
    }
    const isLate = now < this.#owedUntil
    this.#owedUntil = Number.NEGATIVE_INFINITY
    return isLate ? 'late' : undefined
  }

  /**
   * Begins a new round: the signals that ended the last one (a newer runner sends one, too) no longer count.
   * @param isSignalled the newer runner that has our lead has signalled us, or is about to
   * @returns false, and nothing changes, when somebody else told us to stop as well
   */
  newRound(isSignalled: boolean): boolean {
    const theirs = isSignalled && this.#hadTerm && !this.#isExpected ? 1 : 0
    if (this.#received > theirs) return false
    this.#owedUntil = isSignalled && !this.#hadTerm ? performance.now() + LATE_MS : Number.NEGATIVE_INFINITY
    callOffStop()
    this.#stop = new Stop()
    this.#count = 0
    this.#hadTerm = false
    this.#isExpected = false
    this.#received = 0
    this.#last = Number.NEGATIVE_INFINITY
    if (this.#over) this.#stop.because(this.#over.reason).requestDrain(this.#over.capMs, true)
    return true
  }
}
