import { defineMachine } from '../engine/machine.ts'

/** One `add`: its URLs become snapshots; it is sealed when the last of them is. */
export const crawlMachine = defineMachine({
  name: 'crawl',
  table: 'crawl',
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
