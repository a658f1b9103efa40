/** Delays between repeated tries. */
export interface Backoff {
  /** After the first try. */
  readonly baseMs: number
  readonly maxMs: number
  /** The fraction by which a delay is varied, so that those who failed together do not retry together. */
  readonly jitter?: number
}

/** The most doublings of a delay, so that the result stays a number even from 0. */
const MOST_DOUBLINGS = 60

/**
 * The delay after this many failed tries, in milliseconds: doubled each time, capped and varied.
 * @param tries 1 after the first
 * @param random from 0 to 1
 */
export function backoff(tries: number, { baseMs, maxMs, jitter = 0 }: Backoff, random = Math.random()): number {
  const doubled = baseMs * 2 ** Math.min(Math.max(0, tries - 1), MOST_DOUBLINGS)
  return Math.round(Math.min(doubled, maxMs) * (1 - jitter + 2 * jitter * random))
}
