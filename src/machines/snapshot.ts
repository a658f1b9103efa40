import { defineMachine } from '../engine/machine.ts'

/** One page of one crawl: its hooks run, their outputs are published, then it is sealed. */
export const snapshotMachine = defineMachine({
  name: 'snapshot',
  table: 'snapshot',
  columns: {
    owner: 'claimed_by',
    attempts: 'attempts',
    changedAt: 'status_changed_at',
    movedBy: 'moved_by',
    modifiedAt: 'modified_at',
  },
  history: true,
  initial: 'queued',
  states: {
    queued: { on: { start: 'started', pause: 'paused', seal: 'sealed' } },
    started: { on: { pause: 'paused', seal: 'sealed' } },
    paused: { on: { resume: 'queued', seal: 'sealed' }, external: true },
    sealed: { final: true },
  },
})
