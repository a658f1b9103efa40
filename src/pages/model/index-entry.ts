/** A page as lists show it. */
export interface IndexEntry {
  readonly number: number
  readonly crawlId: string
  readonly sealedAt: Date
  readonly outcome: 'archived' | 'partial' | 'failed' | null
  readonly tags: readonly string[]
  readonly cause: string | null
  readonly httpStatus: number | null
  /** The path of its folder, relative to the top of the archive. */
  readonly path: string
  /** Relative to its folder; empty: none. */
  readonly icon: string
  readonly picture: string
  readonly size: number
  readonly url: string
  readonly title: string | null
  /** The beginning of its text. */
  readonly text: string
  /** The name of the other node that has its files; '': they are here. */
  readonly node: string
}
