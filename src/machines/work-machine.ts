import { defineMachine } from '../engine/machine.ts'
import { CLAIMED_ROWS } from './claimed-rows.ts'

/**
 * What a crawl and a page have in common: a worker claims the row, starts it, and seals it when none of its work is
 * open. People pause, resume and seal it from outside.
 * @param name of the graph and of its table
 * @param attempts claims in a row without progress after which it is sealed with what it has
 */
export function workMachine<const Name extends string>(name: Name, attempts: number) {
  const worked = {
    // After a failure of the worker, not of a hook; grows with each one.
    retryAfterMs: 2_000,
    // Without progress; the time limit of each hook is added (ArchiveBox's worker timeout).
    deadlineMs: 3_600_000,
    giveUp: { after: attempts, to: 'sealed' },
  } as const
  return defineMachine({
    name,
    table: name,
    ...CLAIMED_ROWS,
    initial: 'queued',
    states: {
      queued: { on: { start: 'started', pause: 'paused', seal: 'sealed' }, ...worked },
      started: { on: { pause: 'paused', seal: 'sealed' }, ...worked },
      paused: { on: { resume: 'queued', seal: 'sealed' }, external: true },
      sealed: { final: true, reopen: { retry: 'queued' } },
    },
  })
}
