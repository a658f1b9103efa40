import { backoff } from '../base/backoff.ts'
import { readSetting, type Texts } from '../base/config.ts'
import { RETRY } from '../engine/outcome.ts'

/** How often, and after what delay, a hook that failed temporarily is tried again. */
export interface HookRetries {
  readonly most: number
  /** @param before how many retries came before */
  readonly waitMs: (before: number) => number
}

/**
 * The settings of a crawl applied to the numbers of `backoff` (`archive-result.ts`): the delay doubles, up to an hour.
 */
export function hookRetries(settings: Texts): HookRetries {
  const wait = { baseMs: 1_000 * readSetting('HOOK_RETRY_SECONDS', settings), maxMs: RETRY.maxMs }
  return { most: readSetting('HOOK_RETRIES', settings), waitMs: (before) => backoff(before + 1, wait) }
}
