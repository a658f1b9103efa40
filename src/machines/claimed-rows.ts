/** What the graphs of claimed rows have in common: the columns of a claim, how long it holds, and a history. */
export const CLAIMED_ROWS = {
  columns: {
    owner: 'claimed_by',
    attempts: 'attempts',
    changedAt: 'status_changed_at',
    movedBy: 'moved_by',
    modifiedAt: 'modified_at',
  },
  leaseSeconds: 60,
  history: true,
} as const
