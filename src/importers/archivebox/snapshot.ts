/** Always the same, as ids are made from it: a snapshot without a date is found again, too. */
export const UNKNOWN_TIME = new Date(0)

/** A snapshot as a collection of ArchiveBox has it. */
export interface SourceSnapshot {
  readonly id: string
  /** The id of its crawl; '': before 0.9 there were none. */
  readonly crawl: string
  readonly url: string
  readonly title: string | null
  readonly tags: readonly string[]
  readonly notes: string
  readonly depth: number
  readonly bookmarkedAt: Date
  /** When it was archived last, as far as is known. */
  readonly savedAt: Date | undefined
  /** Where its files may lie, relative to the collection, likeliest first. */
  readonly folders: readonly string[]
  readonly results: readonly SourceResult[]
}

/** What one of its plugins ("extractors" before 0.9) made. */
export interface SourceResult {
  readonly plugin: string
  readonly hook: string
  readonly status: string
  readonly output: string
  readonly start: Date | undefined
  readonly end: Date | undefined
}
