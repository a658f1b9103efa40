import { AppError } from '../../base/errors.ts'

/** A signal that aborts after some time, or with the one it follows. */
export interface Deadline {
  readonly signal: AbortSignal
  /** Removes the timer and the listener. */
  clear(): void
}

/**
 * A deadline in `seconds` from now that also follows `outer`. The abort reason is an AppError with the line that people
 * read.
 */
export function startDeadline(outer: AbortSignal, seconds: number): Deadline {
  const controller = new AbortController()
  const follow = () => {
    const reason: unknown = outer.reason
    const late = reason instanceof Error && reason.name === 'TimeoutError'
    controller.abort(reason instanceof AppError ? reason : late ? over() : new AppError('stopped before it was done'))
  }
  const over = () => new AppError(`timed out after ${seconds} s`)
  const timer = setTimeout(() => controller.abort(over()), seconds * 1000)
  if (outer.aborted) follow()
  else outer.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      outer.removeEventListener('abort', follow)
    },
  }
}
