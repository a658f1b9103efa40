/** The environment that tells a worker who it is, beside its home and marks; its row was written before its start. */
export const WORKER_ENV = {
  parentId: 'ARCHIVEBOX_PARENT_ID',
  term: 'ARCHIVEBOX_TERM',
  scope: 'ARCHIVEBOX_SCOPE',
  slots: 'ARCHIVEBOX_SLOTS',
  containment: 'ARCHIVEBOX_CONTAINMENT',
} as const
