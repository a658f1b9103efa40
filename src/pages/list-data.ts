/** What a page says of its list of pages, to its script. */
export interface ListData {
  /** The way to the top of the archive. */
  readonly top: string
  /** The chunks of the index that have them, the latest first. */
  readonly chunks: readonly number[]
  readonly total: number
  /** Of a crawl: its id. */
  readonly crawl?: string
  /** Was it unfinished when this was written? Not given: the page does not come again. */
  readonly live?: boolean
  /** In ms since 1970. */
  readonly writtenAt?: number
}
