/** How a worker learns who it is, beside its home and its markers: its row was written before it was started. */
export const WORKER_ENV = {
  parentId: 'ARCHIVEBOX_PARENT_ID',
  term: 'ARCHIVEBOX_TERM',
  scope: 'ARCHIVEBOX_SCOPE',
  slots: 'ARCHIVEBOX_PLACES',
  containment: 'ARCHIVEBOX_CONTAINMENT',
} as const
