import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The title in the published output of the title plugin.
 * @param root the page's folder
 */
export function titleIn(root: string): string | null {
  try {
    return (
      readFileSync(join(root, 'title', 'title.txt'), 'utf8')
        .replaceAll('\u0000', '')
        .trim()
        .slice(0, 512) || null
    )
  } catch {
    return null
  }
}
