import { writeSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

/** The exit code of a process whose loop missed its schedule (sysexits: EX_SOFTWARE). */
export const WATCHDOG_EXIT_CODE = 70

export interface WatchdogOptions {
  /** How long the loop may be silent. */
  readonly afterMs: number
  readonly exitCode?: number
}

/**
 * How many checks in a row must find the loop silent: a process that was suspended, its watchdog included, is not
 * stuck.
 */
const LOOKS = 4
/** How long the loop must be idle before the thread is ended, which saves about 10 MB. */
const QUIET_MS = 60_000

/**
 * Ends the process when its loop misses its schedule, so that another takes over its work. A separate thread detects a
 * blocked loop; it runs while handlers are at work.
 */
export class Watchdog {
  readonly #options: Required<WatchdogOptions>
  readonly #ticks = new Int32Array(new SharedArrayBuffer(4))
  #thread: Worker | undefined
  #workedAt = 0
  #stuck = 0
  #isRefused = false

  constructor({ afterMs, exitCode = WATCHDOG_EXIT_CODE }: WatchdogOptions) {
    this.#options = { afterMs, exitCode }
  }

  get afterMs(): number {
    return this.#options.afterMs
  }

  /**
   * Reports that the loop is alive. Call it several times within `afterMs`, and before starting handlers, which may
   * block.
   * @param isAtWork handlers run or are about to
   * @param stuckMs how long the loop has waited for its own next step, if it has
   */
  feed(isAtWork: boolean, stuckMs = 0): void {
    const { afterMs, exitCode } = this.#options
    this.#stuck = stuckMs > afterMs ? this.#stuck + 1 : 0
    if (this.#stuck === LOOKS) {
      writeSync(
        2,
        `watchdog: the database has not answered for ${Math.round(stuckMs)} ms, ` +
          `ending process ${process.pid} with exit code ${exitCode}\n`,
      )
      process.exit(exitCode)
    }
    Atomics.add(this.#ticks, 0, 1)
    const now = performance.now()
    if (isAtWork) this.#workedAt = now
    if (isAtWork) this.#thread ??= this.#start()
    else if (now - this.#workedAt > QUIET_MS) this.close()
  }

  close(): void {
    void this.#thread?.terminate()
    this.#thread = undefined
  }

  /** A machine without room for a thread (EAGAIN) may have it when we are fed again. */
  #start(): Worker | undefined {
    let thread: Worker
    try {
      thread = new Worker(`(${watch.toString()})()`, {
        eval: true,
        execArgv: [],
        env: {},
        trackUnmanagedFds: false,
        workerData: { ticks: this.#ticks, looks: LOOKS, ...this.#options },
      })
    } catch (error) {
      if (!this.#isRefused) process.emitWarning(error as Error)
      this.#isRefused = true
      return undefined
    }
    this.#isRefused = false
    thread.unref()
    thread.on('error', (error) => process.emitWarning(error))
    thread.on('exit', () => {
      if (this.#thread === thread) this.#thread = undefined
    })
    return thread
  }
}

/**
 * The thread's program; only its text gets there. `process.exit` in a thread ends only the thread, so it uses the
 * debugger, which evaluates code in the main thread even during an endless loop. A main thread that is blocked in a
 * system call does not react to that either: then SIGKILL, and a line that tells why.
 */
function watch(): void {
  const { writeSync } = process.getBuiltinModule('node:fs') // Not an import: only this function's text gets here.
  const { workerData } = process.getBuiltinModule('node:worker_threads')
  const { ticks, looks, afterMs, exitCode } = workerData as {
    ticks: Int32Array
    looks: number
    afterMs: number
    exitCode: number
  }
  const say = (line: string) => {
    try {
      writeSync(2, `${line}\n`)
    } catch {
      // Nobody reads it; the exit code still tells.
    }
  }
  let seen = Atomics.load(ticks, 0)
  let silent = 0
  const looking = setInterval(() => {
    const now = Atomics.load(ticks, 0)
    silent = now === seen ? silent + 1 : 0
    seen = now
    if (silent < looks) return
    clearInterval(looking)
    end()
  }, afterMs / looks)
  const end = () => {
    say(
      `watchdog: the loop has been silent for ${afterMs} ms, ending process ${process.pid} with exit code ${exitCode}`,
    )
    setTimeout(() => {
      say(`watchdog: process ${process.pid} does not react, killing it`)
      process.kill(process.pid, 'SIGKILL')
    }, 1_000)
    const { Session } = process.getBuiltinModule('node:inspector') // Loaded only here: it is large.
    const session = new Session()
    session.connectToMainThread()
    session.post('Runtime.evaluate', { expression: `process.removeAllListeners('exit'); process.exit(${exitCode})` })
  }
}
