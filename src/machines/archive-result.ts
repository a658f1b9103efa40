import { backoff } from '../base/backoff.ts'
import { readSetting, SETTINGS, type Texts } from '../base/config.ts'
import { defineMachine } from '../engine/machine.ts'
import { RETRY } from '../engine/outcome.ts'

const numberOf = <const Name extends 'HOOK_RETRY_SECONDS' | 'HOOK_RETRIES'>(setting: Name) => ({
  ...{ setting, standard: SETTINGS[setting].standard },
})

/** An attempt that ended before its start was written began at that moment. */
const BEGUN = 'coalesce(work.start_ts, now())'

const OPEN = {
  start: 'started',
  succeed: 'succeeded',
  empty: 'noresults',
  skip: 'skipped',
  fail: 'failed',
  interrupt: 'queued',
  delay: 'backoff',
} as const

const ENDED = {
  final: true,
  reopen: { repeat: 'queued' },
  entering: { start_ts: BEGUN, end_ts: 'now()' },
} as const

/**
 * One attempt of one hook on one snapshot. `interrupt` is an end that was not the hook's fault: a drain, a takeover, a
 * dead worker. `backoff` is an attempt that failed temporarily: when its page is due again it becomes `failed`, and
 * another attempt is queued beside it. An attempt that ended before its start was recorded goes from `queued` straight
 * to its end, or was interrupted before. One that is started again continues in another process. A final attempt is
 * repeated when what its hook worked on is gone (`repeatResults`); a person who retries a page queues a new one beside
 * it.
 */
export const archiveResultMachine = defineMachine({
  name: 'archive_result',
  table: 'archive_result',
  heldBy: 'snapshot',
  history: true,
  initial: 'queued',
  states: {
    queued: { on: OPEN, entering: { start_ts: 'null', end_ts: 'null', process_id: 'null' } },
    started: { on: OPEN, entering: { start_ts: BEGUN, end_ts: 'null' } },
    backoff: {
      on: { fail: 'failed', skip: 'skipped' },
      again: { afterSeconds: numberOf('HOOK_RETRY_SECONDS'), most: numberOf('HOOK_RETRIES'), to: 'failed' },
      entering: { start_ts: BEGUN, end_ts: 'null' },
    },
    succeeded: ENDED,
    failed: ENDED,
    skipped: ENDED,
    noresults: ENDED,
  },
})

/** How often, and after what delay, a hook that failed temporarily is tried again. */
export interface HookRetries {
  readonly most: number
  /** @param before how many retries came before */
  readonly waitMs: (before: number) => number
}

/** The numbers of `backoff`, from the settings of a crawl; the delay doubles, up to an hour. 0 seconds: at once. */
export function hookRetries(settings: Texts): HookRetries {
  const { afterSeconds, most } = archiveResultMachine.states.backoff.again
  const wait = { baseMs: 1_000 * readSetting(afterSeconds.setting, settings), maxMs: RETRY.maxMs }
  return { most: readSetting(most.setting, settings), waitMs: (before) => backoff(before + 1, wait) }
}
