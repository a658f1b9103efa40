/** Failures wait no longer than this between two attempts, unless their state's own `retryAfterMs` is longer. */
export const BACKOFF_CAP_MS = 3_600_000
const DEFAULT_RETRY_MS = 1_000
const JITTER = 0.2

/**
 * How long a failed row waits, in milliseconds: doubled with each attempt, capped, and spread by a fifth so that rows that failed together
 * do not come back together.
 * @param attempts 1 for the first
 * @param random from 0 to 1
 */
export function retryDelayMs(
  retryAfterMs: number = DEFAULT_RETRY_MS,
  attempts = 1,
  random: number = Math.random(),
): number {
  const doubled = retryAfterMs * 2 ** Math.max(0, attempts - 1)
  const capped = Math.min(doubled, Math.max(BACKOFF_CAP_MS, retryAfterMs))
  return Math.round(capped * (1 - JITTER + 2 * JITTER * random))
}
