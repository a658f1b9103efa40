import { defineMachine } from '../engine/machine.ts'

/**
 * A program that plugins need, as one machine has it. Looked up in vain it stays queued, for five minutes each time
 * (ArchiveBox's number). One that has gone since
 * is put back by whoever finds out (`loseBinary`), as a retry puts back what is sealed.
 */
export const binaryMachine = defineMachine({
  name: 'binary',
  table: 'binary',
  columns: {
    owner: 'claimed_by',
    attempts: 'attempts',
    changedAt: 'status_changed_at',
    movedBy: 'moved_by',
    modifiedAt: 'modified_at',
  },
  leaseSeconds: 60,
  history: true,
  initial: 'queued',
  states: {
    queued: { on: { install: 'installed' }, retryAfterMs: 300_000, deadlineMs: 3_600_000 },
    installed: { final: true },
  },
})
