/** Details of a URL in a list: kept with the crawl, and given to its page. */
export interface UrlDetails {
  readonly title?: string
  readonly tags?: readonly string[]
  readonly notes?: string
  /** When it was bookmarked: ISO 8601. */
  readonly at?: string
  /** For its page only. */
  readonly settings?: Readonly<Record<string, string>>
}

/** As long as a title that a page itself may have. */
const LONGEST_TITLE = 512
const LONGEST_TAG = 255
const MOST_TAGS = 100
const LONGEST_NOTES = 100_000

/** Details as they can be stored: cleaned, and cut to what the database and pages take. Undefined when none is left. */
export function urlDetails(given: {
  readonly title?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly notes?: string | undefined
  readonly addedAt?: Date | undefined
  readonly settings?: Readonly<Record<string, string>> | undefined
}): UrlDetails | undefined {
  const title = oneLine(given.title ?? '', LONGEST_TITLE)
  const tags = [...new Set((given.tags ?? []).map((tag) => oneLine(tag, LONGEST_TAG)).filter(Boolean))]
  const notes = (given.notes ?? '').replaceAll('\0', '').trim().slice(0, LONGEST_NOTES).toWellFormed()
  const details = {
    ...(title === '' ? {} : { title }),
    ...(tags.length === 0 ? {} : { tags: tags.slice(0, MOST_TAGS) }),
    ...(notes === '' ? {} : { notes }),
    ...(given.addedAt === undefined ? {} : { at: given.addedAt.toISOString() }),
    ...(given.settings === undefined ? {} : { settings: given.settings }),
  }
  return Object.keys(details).length === 0 ? undefined : details
}

function oneLine(text: string, longest: number): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, longest)
    .toWellFormed()
}
