import type { Stop } from '../../base/stop.ts'

/** The moment that ends running hooks, and a function to call when none runs any more. */
export interface CutOff {
  readonly signal: AbortSignal
  readonly done: () => void
}

/** Aborts with `abort`, or when a drain leaves a running hook no time. */
export function cutOff(stop: Stop, abort: AbortSignal): CutOff {
  const over = new AbortController()
  let timer: NodeJS.Timeout | undefined
  // Computed at each change: a handoff may shorten a drain in progress.
  const unwatch = stop.watch(() => {
    clearTimeout(timer)
    if (Number.isFinite(stop.capMs)) timer = setTimeout(() => over.abort(), stop.capMs)
  })
  return {
    signal: AbortSignal.any([abort, over.signal]),
    done: () => {
      clearTimeout(timer)
      unwatch()
    },
  }
}
