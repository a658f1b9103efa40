import type { NewRow } from '../db/new-process.ts'

/** What a caller gives with each call, besides its input. */
export interface Call<Event = never> {
  /** Aborted: what was asked for stops in order. */
  readonly signal?: AbortSignal
  /** Told what happens meanwhile, as data: what is said of it is the caller's. */
  readonly tell?: (event: Event) => void
  /** The row of the process for which it acts, where that is still to be written: `add` does, with its crawl. */
  readonly on?: NewRow
}
