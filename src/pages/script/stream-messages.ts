/** What a tab tells the worker, now and then again: its topics from now on; none while it is hidden. */
export interface ToWorker {
  readonly topics: readonly string[]
  /** The page shows all changes before this time, by the server's clock in ms. */
  readonly since?: number
}

/** What the worker tells a tab. */
export type FromWorker =
  | { readonly event: 'change'; readonly topics: readonly string[] }
  | { readonly event: 'reload' | 'trouble' | 'well' | 'broken' }
