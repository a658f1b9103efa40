import type { Found } from './entry.ts'
import { entryOf, type Fields, tagsOfFolder } from './fields.ts'
import { JsonScanner, LISTS } from './json-scanner.ts'

/**
 * A JSON document with entries in it: from Pinboard, wallabag, Karakeep, Linkwarden, JSON Feed, the bookmarks of
 * Firefox and Chromium, and others.
 */
export async function* json(chunks: AsyncIterable<string>): AsyncGenerator<Found[]> {
  const found: Found[] = []
  const scanner = new JsonScanner({
    value(value, line, above) {
      if (typeof value === 'string') found.push({ url: value, line })
      else {
        const entry = entryOf(value, line)
        if (entry.url === '' && isHolder(value)) return
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

/** A browser's folder or separator, or an object with an empty list of entries. */
function isHolder(fields: Fields): boolean {
  const { type } = fields
  if (type === 'folder' || /^text\/x-moz-place-(?:container|separator)$/.test(String(type))) return true
  return Object.entries(fields).some(([name, value]) => Array.isArray(value) && LISTS.has(name))
}
