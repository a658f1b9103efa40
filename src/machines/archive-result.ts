import { SETTINGS } from '../base/config.ts'
import { defineMachine } from '../engine/machine.ts'

/** An attempt that ended before its start was written began then. */
const BEGUN = 'coalesce(work.start_ts, now())'

const ENDED = {
  final: true,
  reopen: { repeat: 'queued' },
  entering: { start_ts: BEGUN, end_ts: 'now()' },
} as const

/**
 * One attempt of one hook on one snapshot. `interrupt` is an end that was not the hook's fault: a drain, a takeover, a
 * dead worker. `backoff` is an attempt that failed temporarily: when its page is due again it becomes `failed`, and
 * another attempt is queued beside it. An attempt that ended before its start had to be recorded goes from `queued`
 * straight to its end. One that is started again goes on in another process. A final attempt is repeated when what its
 * hook worked on is gone (`repeatResults`); a person who retries a page queues a new one beside it.
 */
export const archiveResultMachine = defineMachine({
  name: 'archive_result',
  table: 'archive_result',
  columns: { attempts: 'retries' },
  heldBy: 'snapshot',
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
      entering: { start_ts: 'null', end_ts: 'null', process_id: 'null' },
    },
    started: {
      on: {
        start: 'started',
        succeed: 'succeeded',
        empty: 'noresults',
        skip: 'skipped',
        fail: 'failed',
        interrupt: 'queued',
        delay: 'backoff',
      },
      entering: { start_ts: BEGUN, end_ts: 'null' },
    },
    // The default for crawls (`hook-retries.ts`).
    backoff: {
      on: { fail: 'failed', skip: 'skipped' },
      retryAfterMs: 1_000 * SETTINGS.HOOK_RETRY_SECONDS.standard,
      giveUp: { after: SETTINGS.HOOK_RETRIES.standard, to: 'failed' },
      entering: { start_ts: BEGUN, end_ts: 'null' },
    },
    succeeded: ENDED,
    failed: ENDED,
    skipped: ENDED,
    noresults: ENDED,
  },
})
