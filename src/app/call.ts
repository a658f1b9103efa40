import type { NewRow } from '../db/new-process.ts'

/** What a caller passes with each call, besides its input. */
export interface Call<Event = never> {
  /** Once aborted, the call stops in an orderly way. */
  readonly signal?: AbortSignal
  /** Is told what happens meanwhile, as data: the caller puts it into words. */
  readonly tell?: (event: Event) => void
  /** The row of the calling process, when it is yet to be written: `add` writes it with its crawl. */
  readonly on?: NewRow
}
