import { UsageError } from '../base/errors.ts'
import { commaList } from './names.ts'

const LONGEST = 100

/** Throws UsageError for what cannot be a tag: lists of them are separated by commas and by control characters. */
export function checkTag(tag: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  if (tag.trim() === tag && tag !== '' && tag.length <= LONGEST && !/[,\u0000-\u001f\u007f]/.test(tag)) return
  throw new UsageError(
    `"${tag}" cannot be a tag`,
    `a tag has 1 to ${LONGEST} characters, no comma, and no blank at its ends`,
  )
}

/** The tags in a comma-separated list, each checked. */
export function tagsIn(list: string | undefined): string[] {
  const tags = commaList(list)
  for (const tag of tags) checkTag(tag)
  return tags
}
