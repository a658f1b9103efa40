/** What a pool tells an actor. */
export type ToActor =
  /** There may be work. */
  | { readonly type: 'wake' }
  /** Something was taken away: see whether your claim still holds. */
  | { readonly type: 'recheck' }
  /** Take no more; let what runs end within `capMs` (null: in its own time). `isExplained` as in `Stop`. */
  | { readonly type: 'drain'; readonly capMs: number | null; readonly isExplained: boolean }
  /** Have no more than so many actors of your own. */
  | { readonly type: 'slots'; readonly count: number }
  /** Stop what runs, and leave. */
  | { readonly type: 'force'; readonly isExplained: boolean }
  /** Something between the two of them, for the actor's `onNote`. */
  | { readonly type: 'note'; readonly note: unknown }

/** What an actor tells its pool. */
export type FromActor =
  /** Its event loop turns. */
  | { readonly type: 'here' }
  /** It is about to claim under this token. */
  | { readonly type: 'claiming'; readonly token: string }
  /** It found nothing to claim. */
  | { readonly type: 'idle' }
  /** It works on a row, and says so again within `forMs`. */
  | { readonly type: 'busy'; readonly forMs: number }
  /** It finished or added something: look again. */
  | { readonly type: 'progress' }
  /** It has no more than so many actors left, as it was told. */
  | { readonly type: 'slots released'; readonly count: number }
  /** Something between the two of them, which the pool hands to its `onNote`. */
  | { readonly type: 'note'; readonly note: unknown }
