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
