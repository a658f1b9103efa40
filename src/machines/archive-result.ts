import { SETTINGS } from '../base/config.ts'
import { defineMachine } from '../engine/machine.ts'

/**
 * One attempt of one hook on one snapshot. `interrupt` is an end that was not the hook's fault: a drain, a takeover, a
 * dead worker. `backoff` is an attempt that failed temporarily: when its page is due again it becomes `failed`, and
 * another attempt is queued beside it. An attempt that ended before its start had to be recorded goes from `queued`
 * straight to its end. A final state has no edges: a person may queue another attempt (`retry`), and an attempt is
 * queued again when what its hook worked on is gone (`repeatResults`).
 */
export const archiveResultMachine = defineMachine({
  name: 'archive_result',
  table: 'archive_result',
  columns: { attempts: 'retries' },
  history: true,
  initial: 'queued',
  states: {
    queued: {
      on: {
        start: 'started',
        succeed: 'succeeded',
        empty: 'noresults',
        skip: 'skipped',
        fail: 'failed',
        delay: 'backoff',
      },
    },
    started: {
      on: {
        succeed: 'succeeded',
        empty: 'noresults',
        skip: 'skipped',
        fail: 'failed',
        interrupt: 'queued',
        delay: 'backoff',
      },
    },
    // The default for crawls (`hook-retries.ts`).
    backoff: {
      on: { fail: 'failed', skip: 'skipped' },
      retryAfterMs: 1_000 * SETTINGS.HOOK_RETRY_SECONDS.standard,
      giveUp: { after: SETTINGS.HOOK_RETRIES.standard, to: 'failed' },
    },
    succeeded: { final: true },
    failed: { final: true },
    skipped: { final: true },
    noresults: { final: true },
  },
})
