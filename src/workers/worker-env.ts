/** The environment that tells a worker who it is, beside its home and marks; its row was written before its start. */
export const WORKER_ENV = {
  parentId: 'ARCHIVEBOX_PARENT_ID',
  term: 'ARCHIVEBOX_TERM',
  scope: 'ARCHIVEBOX_SCOPE',
  slots: 'ARCHIVEBOX_SLOTS',
  holds: 'ARCHIVEBOX_HOLDS',
  containment: 'ARCHIVEBOX_CONTAINMENT',
} as const

/** What a worker that holds is told by its supervisor, as a note. */
export const BEGIN = 'begin'
