import { SETTINGS } from '../base/config.ts'
import { defineMachine } from '../engine/machine.ts'

/**
 * One attempt of one hook on one snapshot. `interrupt` is an end that was not its fault: a drain, a takeover, a dead
 * worker. `backoff` is an attempt that failed temporarily: when its page is due again it is `failed`, and
 * another attempt is queued beside it. One that came to its end before anybody had to know that it was started goes
 * there from `queued`.
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
    // Where a crawl does not say otherwise (`hook-retries.ts`).
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
