/** One entry of a list as written: nothing is checked yet. */
export interface Entry {
  /** '': it has none. */
  readonly url: string
  readonly title?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly notes?: string | undefined
  /** When it was bookmarked, saved or visited. */
  readonly addedAt?: Date | undefined
  /** Counted from 1. */
  readonly line?: number | undefined
}

/** A place in a list that could not be read. */
export interface Broken {
  readonly broken: string
  readonly line: number
}

export type Found = Entry | Broken

/** Reads a text that arrives in chunks; yields what it finds as it goes, many at a time. */
export type Importer = (chunks: AsyncIterable<string>) => AsyncGenerator<Found[]>
