/** Messages from a pool to an actor. */
export type ToActor =
  /** There may be work. */
  | { readonly type: 'wake' }
  /** A claim may have been taken away: check whether yours still holds. */
  | { readonly type: 'recheck' }
  /** Claim nothing more, and let running work end within `capMs` (null: no limit). `isExplained` as in `Stop`. */
  | { readonly type: 'drain'; readonly capMs: number | null; readonly isExplained: boolean }
  /** Have no more than `count` actors of your own. */
  | { readonly type: 'slots'; readonly count: number }
  /** Stop running work and exit. */
  | { readonly type: 'force'; readonly isExplained: boolean }
  /** A message of the pool's caller, for the actor's `onNote`. */
  | { readonly type: 'note'; readonly note: unknown }

/** Messages from an actor to its pool. */
export type FromActor =
  /** Its event loop is alive. */
  | { readonly type: 'here' }
  /** It is about to claim under this token. */
  | { readonly type: 'claiming'; readonly token: string }
  /** It found nothing to claim. */
  | { readonly type: 'idle' }
  /** It works on a row, and will report again within `forMs`. */
  | { readonly type: 'busy'; readonly forMs: number }
  /** It is done with a row for now, which got further if `settled`: check the queue again. */
  | { readonly type: 'progress'; readonly settled: boolean }
  /** It now has no more than `count` actors, as ordered. */
  | { readonly type: 'slots released'; readonly count: number }
  /** A message for the pool's `onNote`. */
  | { readonly type: 'note'; readonly note: unknown }
