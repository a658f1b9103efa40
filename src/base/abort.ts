import { setTimeout as delay } from 'node:timers/promises'

/** Sleeps for `ms`, or shorter when `signal` aborts. Returns; it never throws. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, signal ? { signal } : {})
  } catch {
    // The signal ended the sleep: the caller looks at it next.
  }
}

/** Resolves when `signal` aborts; at once when it already has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Waits for a promise, or throws the reason of the signal; the promise then goes on for others. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const { promise: over, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, over])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/**
 * Waits for a promise; once `signal` has aborted, for no longer than `ms`. The promise then goes on by itself.
 * @returns whether it was fulfilled. Throws what it throws.
 */
export async function untilLate(promise: Promise<unknown>, ms: number, signal?: AbortSignal): Promise<boolean> {
  const over = new AbortController()
  const isLate = async () => {
    if (signal) await Promise.race([aborted(signal), aborted(over.signal)])
    await sleep(ms, over.signal)
    return false
  }
  try {
    return await Promise.race([promise.then(() => true), isLate()])
  } finally {
    over.abort()
    promise.catch(() => {}) // Nobody waits for it any more.
  }
}

/**
 * A wake-up that remembers: `wake()` ends the current or the next `wait()`.
 * It joins a poll and a notification, so that a wake-up that arrives while nobody waits is not lost.
 */
export class Bell {
  #rung = false
  #waiting: (() => void) | undefined

  wake(): void {
    this.#rung = true
    this.#waiting?.()
    this.#waiting = undefined
  }

  /** Waits for `wake()`, `ms`, or `signal`, whichever comes first. */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    if (!this.#rung && !signal?.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        const stop = () => resolve()
        signal?.addEventListener('abort', stop, { once: true })
        this.#waiting = () => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', stop)
          resolve()
        }
      })
      this.#waiting?.()
      this.#waiting = undefined
    }
    this.#rung = false
  }
}
