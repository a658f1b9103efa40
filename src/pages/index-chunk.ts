import { writeLine } from './index-line.ts'
import type { IndexEntry } from './model/index-entry.ts'

// A chunk of the archive's index: a script, because a page that was opened from disk can load nothing else. It passes
// on one text, with a line for each page (index-line.ts). The reader is script/.

/** Lines by the numbers of their pages. */
export type ChunkLines = Map<number, string>

/** One page as a line. */
export function chunkLine(entry: IndexEntry): string {
  const { number, crawlId, sealedAt, outcome, tags, cause, httpStatus, path, icon, picture, size } = entry
  return writeLine({
    ...{ number, path, icon, picture, size },
    seconds: Math.round(sealedAt.getTime() / 1000),
    outcome: outcome ?? '',
    crawl: crawlId,
    tags: tags.map(flat),
    status: String(httpStatus ?? ''),
    cause: flat(cause ?? ''),
    url: flat(entry.url),
    title: flat(entry.title ?? ''),
    text: flat(entry.text),
    node: flat(entry.node),
  })
}

/** One line of plain text: blanks are its only separators, and no character is cut. */
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

/** The lines of a chunk that was written before. Throws when it is incomplete. */
export function parseChunk(text: string): ChunkLines {
  const found = /^pages\(\d+,(".*")\)\n$/.exec(text)
  if (!found) throw new Error('it is damaged')
  const lines = (JSON.parse(found[1]!) as string).split('\n')
  return new Map(lines.map((line) => [Number.parseInt(line, 10), line]))
}
