import { backoff } from '../base/backoff.ts'
import { readSetting, type Texts } from '../base/config.ts'
import { RETRY } from '../engine/outcome.ts'

/** How often, and after how long, a hook is tried again that failed temporarily. */
export interface HookRetries {
  readonly most: number
  /** @param before how often it was tried again before */
  readonly waitMs: (before: number) => number
}

/**
 * What the settings of a crawl make of the numbers of `backoff` (`archive-result.ts`): twice as long each time, up to
 * an hour.
 */
export function hookRetries(settings: Texts): HookRetries {
  const wait = { baseMs: 1_000 * readSetting('HOOK_RETRY_SECONDS', settings), maxMs: RETRY.maxMs }
  return { most: readSetting('HOOK_RETRIES', settings), waitMs: (before) => backoff(before + 1, wait) }
}
