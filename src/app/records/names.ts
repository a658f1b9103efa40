import { UsageError } from '../../base/errors.ts'

/** Each is one condition of a statement; a server takes some 10,000. */
const MOST = 1_000

/** The parts of a comma-separated list, without duplicates. */
export function commaList(value: string | undefined): string[] {
  return [
    ...new Set(
      (value ?? '')
        .split(',')
        .map((item) => item.trim())
        .filter(Boolean),
    ),
  ]
}

/**
 * The names that an option lists: at least one, since none means an empty variable of a script. Throws UsageError, also
 * for more than a statement takes.
 */
export function namesOf(text: string, option: string): string[] {
  const names = commaList(text)
  if (names.length === 0) throw new UsageError(`${option} takes names, comma-separated, not "${text}"`)
  if (names.length > MOST) throw new UsageError(`${option} takes up to ${MOST} names, not ${names.length}`)
  return names
}

/** Characters of a tag. */
const LONGEST_TAG = 100

/** Throws UsageError for an invalid tag: lists of tags are separated by commas and by control characters. */
export function checkTag(tag: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is rejected
  if (tag.trim() === tag && tag !== '' && tag.length <= LONGEST_TAG && !/[,\u0000-\u001f\u007f]/.test(tag)) return
  throw new UsageError(
    `"${tag}" cannot be a tag`,
    `a tag has 1 to ${LONGEST_TAG} characters, no comma or control character, and no blank at its ends`,
  )
}

/** The tags that an option lists, or none. Throws UsageError for an invalid one. */
export function tagsIn(text: string | undefined): string[] {
  const tags = commaList(text)
  for (const tag of tags) checkTag(tag)
  return tags
}
