import { readSetting, type Texts } from '../base/config.ts'

const LONGEST_SECONDS = 3_600

/** How often, and after how long, a hook is tried again that failed in a way that may pass. */
export interface Retries {
  readonly most: number
  /** @param before how often it was tried again before */
  readonly waitMs: (before: number) => number
}

/** HOOK_RETRIES times, after HOOK_RETRY_SECONDS, then twice as long each time, up to an hour. */
export function retriesOf(settings: Texts): Retries {
  const first = readSetting('HOOK_RETRY_SECONDS', settings)
  return {
    most: readSetting('HOOK_RETRIES', settings),
    waitMs: (before) => 1_000 * Math.min(first * 2 ** before, LONGEST_SECONDS),
  }
}
