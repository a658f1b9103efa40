import type { Texts } from '../base/config.ts'
import type { LogLine } from '../base/log.ts'

/** What a supervisor tells its worker. */
export type ToWorker =
  /** The settings that hold for as long as its runner lives: what a worker is told first. */
  | { readonly type: 'settings'; readonly texts: Texts }
  /** There may be work. */
  | { readonly type: 'wake' }
  /** The crawl was taken away: see whether your claim still holds. */
  | { readonly type: 'recheck' }
  /** Take no more; let hooks that run end within `capMs` (null: within their own timeouts). `isExplained` as in `Stop`. */
  | { readonly type: 'drain'; readonly capMs: number | null; readonly isExplained: boolean }
  /** Have no more than so many workers of your own. */
  | { readonly type: 'slots'; readonly count: number }
  /** Kill hooks and leave. */
  | { readonly type: 'force'; readonly isExplained: boolean }

/** What a worker tells its supervisor. */
export type FromWorker =
  | { readonly type: 'log'; readonly line: LogLine }
  /** Its event loop turns. */
  | { readonly type: 'here' }
  /** It found nothing to claim. */
  | { readonly type: 'idle' }
  | { readonly type: 'busy' }
  /** It has no more than so many workers left, as it was told. */
  | { readonly type: 'slots released'; readonly count: number }
  /** It finished or added something: look again. */
  | { readonly type: 'progress' }

/** How a worker learns who it is, beside its home and its markers: its row was written before it was started. */
export const WORKER_ENV = {
  parentId: 'ARCHIVEBOX_PARENT_ID',
  term: 'ARCHIVEBOX_TERM',
  scope: 'ARCHIVEBOX_SCOPE',
  slots: 'ARCHIVEBOX_PLACES',
  containment: 'ARCHIVEBOX_CONTAINMENT',
} as const
