import { AppError } from './errors.ts'

/** The time was over. */
export class TimedOut extends AppError {
  constructor(seconds: number) {
    super(`timed out after ${seconds} s`)
  }
}

/** A signal that aborts after some time, or with the one it follows. */
export interface Deadline {
  readonly signal: AbortSignal
  /** Takes away what others have spent on the same before, in milliseconds. */
  spend(ms: number): void
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
  const over = () => new TimedOut(seconds)
  const end = () => controller.abort(over())
  const began = performance.now()
  let timer = setTimeout(end, seconds * 1000)
  if (outer.aborted) follow()
  else outer.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    spend(ms) {
      const left = seconds * 1000 - ms - (performance.now() - began)
      clearTimeout(timer)
      if (left <= 0) end()
      else timer = setTimeout(end, left)
    },
    clear() {
      clearTimeout(timer)
      outer.removeEventListener('abort', follow)
    },
  }
}
