import type { Found } from './entry.ts'
import { entryOf, type Fields, tagsOfFolder } from './fields.ts'
import { JsonScanner } from './json-scanner.ts'

/**
 * A JSON document with entries in it: from Pinboard, wallabag, Karakeep, Linkwarden, JSON Feed, the bookmarks of
 * Firefox and Chromium, and others.
 */
export async function* json(chunks: AsyncIterable<string>): AsyncGenerator<Found[]> {
  const found: Found[] = []
  const scanner = new JsonScanner({
    value(value, line, above, isHolder) {
      if (typeof value === 'string') found.push({ url: value, line })
      else {
        const entry = entryOf(value, line)
        if (entry.url === '' && (isHolder || isFolder(value))) return
        const folder = tagsOfFolder(String(above?.['name'] ?? above?.['title'] ?? ''))
        found.push(entry.tags?.length ? entry : { ...entry, tags: folder })
      }
    },
    broken: (why, line) => found.push({ broken: why, line }),
  })
  for await (const chunk of chunks) {
    scanner.write(chunk)
    yield found.splice(0)
  }
  scanner.end()
  yield found.splice(0)
}

/** A browser's folder or separator. */
function isFolder({ type }: Fields): boolean {
  return type === 'folder' || /^text\/x-moz-place-(?:container|separator)$/.test(String(type))
}
