import type { IndexEntry } from './model/index-entry.ts'

// A chunk of the archive's index: a script, because a page that was opened from disk can load nothing else, that hands
// over one text. A line of it is a page, its fields are separated by tabs. The reader is assets/pages.js.

const OUTCOME_LETTERS = { archived: 'a', partial: 'p', failed: 'f' } as const

/** Lines by the numbers of their pages. */
export type ChunkLines = Map<number, string>

/** One page as a line. Between tags stands U+001F, which no tag has. */
export function chunkLine(entry: IndexEntry): string {
  return [
    entry.number,
    Math.round(entry.sealedAt.getTime() / 1000).toString(36),
    entry.outcome === null ? '' : OUTCOME_LETTERS[entry.outcome],
    entry.crawlId,
    entry.tags.map(flat).join('\u001f'),
    entry.httpStatus ?? '',
    flat(entry.cause ?? ''),
    entry.path,
    entry.icon,
    entry.picture,
    entry.size,
    flat(entry.url),
    flat(entry.title ?? ''),
    flat(entry.text),
  ].join('\t')
}

/** One line of plain text: no other separators than blanks, and half of no character. */
function flat(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .toWellFormed()
}

/** @param chunk its number */
export function chunkText(chunk: number, lines: ChunkLines): string {
  const inOrder = [...lines].sort(([a], [b]) => a - b).map(([, line]) => line)
  return `pages(${chunk},${JSON.stringify(inOrder.join('\n'))})\n`
}

/** The lines of a chunk that was written before. Throws when it is not whole. */
export function parseChunk(text: string): ChunkLines {
  const found = /^pages\(\d+,(".*")\)\n$/.exec(text)
  if (!found) throw new Error('it is damaged')
  const lines = (JSON.parse(found[1]!) as string).split('\n')
  return new Map(lines.map((line) => [Number.parseInt(line, 10), line]))
}
