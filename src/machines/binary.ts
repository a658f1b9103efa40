import { defineMachine } from '../engine/machine.ts'
import { CLAIMED_ROWS } from './claimed-rows.ts'

/**
 * A program that plugins need, on one machine. One that was not found stays queued, for five minutes each time
 * (ArchiveBox's number). One that has disappeared is queued again by whoever notices (`loseBinary`).
 */
export const binaryMachine = defineMachine({
  name: 'binary',
  table: 'binary',
  ...CLAIMED_ROWS,
  initial: 'queued',
  states: {
    queued: { on: { install: 'installed' }, retryAfterMs: 300_000, deadlineMs: 3_600_000 },
    installed: { final: true, reopen: { gone: 'queued' } },
  },
})
