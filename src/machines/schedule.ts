import { defineMachine } from '../engine/machine.ts'
import { CLAIMED_ROWS } from './claimed-rows.ts'

/**
 * URLs that are archived regularly. A leader claims a schedule when it is due, adds a crawl, and moves it on to its
 * next moment in the same transaction (`scheduled-crawls.ts`). It goes on until somebody pauses or removes it.
 */
export const scheduleMachine = defineMachine({
  name: 'schedule',
  table: 'schedule',
  ...CLAIMED_ROWS,
  initial: 'active',
  states: {
    active: { on: { pause: 'paused' }, retryAfterMs: 30_000, deadlineMs: 60_000 },
    paused: { on: { resume: 'active' }, external: true },
  },
})
