import { join } from 'node:path'
import type { Meanings } from '../base/makes.ts'
import { textIn } from './text-in.ts'

/** How many characters are kept of a title, which is one line. */
const MOST_CHARS = 512

/**
 * The title that a plugin has published.
 * @param root the page's folder
 */
export function titleIn(root: string, meanings: Meanings): string | null {
  for (const [plugin, file] of meanings.with('title')) {
    const title = titleOf(join(root, plugin, file))
    if (title) return title
  }
  return null
}

function titleOf(file: string): string | undefined {
  try {
    return textIn(file, 4 * MOST_CHARS)
      ?.replaceAll('\u0000', '')
      .trim()
      .slice(0, MOST_CHARS)
  } catch {
    return undefined
  }
}
