/** Data of a page about its list of pages, for its script. */
export interface ListData {
  /** The path to the top of the archive. */
  readonly top: string
  /** The chunks of the index that have them, the latest first. */
  readonly chunks: readonly number[]
  readonly total: number
  /** The id of the crawl, if it is one. */
  readonly crawl?: string
  /** Whether it was unfinished when this was written. Not given: the page does not reload. */
  readonly live?: boolean
  /** In ms since 1970. */
  readonly writtenAt?: number
}
