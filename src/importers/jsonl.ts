import type { Found } from './entry.ts'
import { entryOf, type Fields } from './fields.ts'
import { type Line, numberedLines } from './lines.ts'
import { urlsInLine } from './text.ts'

/** One JSON value per line: records as the list verbs and `export` print them, those of other programs, or URLs. */
export async function* jsonl(chunks: AsyncIterable<string>): AsyncGenerator<Found[]> {
  for await (const lines of numberedLines(chunks)) yield lines.flatMap(foundIn)
}

function foundIn({ text, number: line }: Line): Found[] {
  if (text === '' || text.startsWith('#')) return []
  if (!/^[{["]/.test(text)) return urlsInLine(text).map((url) => ({ url, line }))
  try {
    return entriesIn(JSON.parse(text), line)
  } catch {
    return [{ broken: 'broken JSON', line }]
  }
}

function entriesIn(value: unknown, line: number): Found[] {
  if (typeof value === 'string') return [{ url: value, line }]
  if (Array.isArray(value)) return value.flatMap((each) => entriesIn(each, line))
  if (typeof value !== 'object' || value === null) return [{ url: '', line }]
  const fields = value as Fields
  const { type, urls, tags } = fields
  if (type === 'Crawl') {
    const list = Array.isArray(urls) ? urls : String(urls ?? '').split('\n')
    return list.filter((url) => typeof url === 'string' && url !== '').map((url) => entryOf({ url, tags }, line))
  }
  // Other records of a full export: they are not about a URL of their own.
  if (typeof type === 'string' && OTHER_TYPES.has(type)) return []
  return [entryOf(fields, line)]
}

const OTHER_TYPES = new Set(['ArchiveResult', 'Process', 'Machine', 'Binary', 'BinaryRequest', 'Tag', 'Schedule'])
