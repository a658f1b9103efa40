/** How long somebody waits before he tries again. */
export interface Backoff {
  /** After the first try. */
  readonly baseMs: number
  readonly maxMs: number
  /** By which part of itself the wait is spread, so that those who failed together do not come back together. */
  readonly jitter?: number
}

/** No wait is doubled more often: the result stays a number, even of nothing. */
const MOST_DOUBLINGS = 60

/**
 * The wait after so many tries in vain, in milliseconds: doubled with each, capped, and spread.
 * @param tries 1 after the first
 * @param random from 0 to 1
 */
export function backoff(tries: number, { baseMs, maxMs, jitter = 0 }: Backoff, random = Math.random()): number {
  const doubled = baseMs * 2 ** Math.min(Math.max(0, tries - 1), MOST_DOUBLINGS)
  return Math.round(Math.min(doubled, maxMs) * (1 - jitter + 2 * jitter * random))
}
