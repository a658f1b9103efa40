import { AppError, EXIT } from '../base/errors.ts'
import { onStopSignals } from '../base/stop-signals.ts'

/** A terminal and the program that started us may both pass on one key press. */
const SAME_PRESS_MS = 150

/**
 * While this is active, a signal does not end the process, but asks it to exit in an orderly way; a second one ends it
 * at once, with 130.
 */
export class Interrupts {
  readonly #interrupt = new AbortController()
  #last = Number.NEGATIVE_INFINITY

  readonly #unlisten: () => void

  constructor() {
    this.#unlisten = onStopSignals(() => this.#onSignal())
  }

  /** Aborted once a signal has come. */
  get signal(): AbortSignal {
    return this.#interrupt.signal
  }

  /** From now on signals do what they did before, unless one has come: the process is exiting then. */
  end(): void {
    if (!this.signal.aborted) this.#unlisten()
  }

  #onSignal(): void {
    const now = performance.now()
    if (now - this.#last < SAME_PRESS_MS) return
    this.#last = now
    if (this.signal.aborted) process.exit(EXIT.interrupted)
    this.#interrupt.abort()
  }
}

/** Does `work`; a signal asks it to stop in an orderly way. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupts = new Interrupts()
  try {
    return await work(interrupts.signal)
  } finally {
    interrupts.end()
  }
}

/**
 * The same for what comes before the work itself: a signal ends the command, also one that comes too late to stop the
 * preparation, whose result is undone then. Throws AppError (130).
 */
export async function preparing<T>(
  prepare: (signal: AbortSignal) => Promise<T>,
  undo: (prepared: T) => Promise<unknown> = async () => {},
): Promise<T> {
  return await interruptible(async (signal) => {
    const prepared = await prepare(signal)
    if (!signal.aborted) return prepared
    await undo(prepared)
    throw new AppError('interrupted before it began', { exitCode: EXIT.interrupted })
  })
}
