import type { HookSettings } from '../hooks/discover.ts'

const MOST = 3
const FIRST_SECONDS = 15
const LONGEST_SECONDS = 3_600

/** How often, and after how long, a hook is tried again that failed in a way that may pass. */
export interface Retries {
  readonly most: number
  /** @param before how often it was tried again before */
  readonly waitMs: (before: number) => number
}

/** HOOK_RETRIES (3) times, after HOOK_RETRY_SECONDS (15), then twice as long each time, up to an hour. */
export function retriesOf(settings: HookSettings): Retries {
  const first = number(settings['HOOK_RETRY_SECONDS']) ?? FIRST_SECONDS
  return {
    most: number(settings['HOOK_RETRIES']) ?? MOST,
    waitMs: (before) => 1_000 * Math.min(first * 2 ** before, LONGEST_SECONDS),
  }
}

function number(text: string | undefined): number | undefined {
  const value = Number(text)
  return text !== undefined && text !== '' && value >= 0 ? value : undefined
}
