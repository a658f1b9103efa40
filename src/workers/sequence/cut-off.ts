import type { Stop } from '../../base/stop.ts'

/** The moment that ends what runs, and what is to be called when nothing does any more. */
export interface CutOff {
  readonly signal: AbortSignal
  readonly done: () => void
}

/** Aborts with `abort`, or when a drain leaves a running hook no time. */
export function cutOff(stop: Stop, abort: AbortSignal): CutOff {
  const over = new AbortController()
  let timer: NodeJS.Timeout | undefined
  // Computed at each change: a handoff may shorten a drain that is under way.
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
