/** What a tab tells the worker, now and then again: what it listens to from now on; nothing when nobody sees it. */
export interface ToWorker {
  readonly topics: readonly string[]
  /** What changed before that its page shows, by the server's clock in ms. */
  readonly since?: number
}

/** What the worker tells a tab. */
export type FromWorker =
  | { readonly event: 'change'; readonly topics: readonly string[] }
  | { readonly event: 'reload' | 'trouble' | 'well' | 'broken' }
