/** Always the same, since ids are made from it: so a snapshot without a date is recognised, too. */
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
  /** When it was last archived, as far as known. */
  readonly savedAt: Date | undefined
  /** The folders that may have its files, relative to the collection, the likeliest first. */
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
