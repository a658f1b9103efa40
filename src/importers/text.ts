import type { Entry, Found } from './entry.ts'
import { numberedLines } from './lines.ts'
import { lacksScheme, withScheme } from './scheme.ts'

const IN_PROSE = /(?:https?:\/\/|www\.)[^\s<>"`{}|\\^\u201c\u201d\u00ab\u00bb]+/gi
const PAIRS: readonly (readonly [open: string, close: string])[] = [
  ['(', ')'],
  ['[', ']'],
]

/** Text: one URL per line (its scheme may be missing), or prose with URLs in it; `#` begins a comment. */
export async function* text(chunks: AsyncIterable<string>): AsyncGenerator<Found[]> {
  for await (const lines of numberedLines(chunks))
    yield lines.flatMap(({ text: line, number }) =>
      line === '' || line.startsWith('#') ? [] : urlsInLine(line).map((url): Entry => ({ url, line: number })),
    )
}

/** Any text: everything in it that is written as a URL, with a scheme or `www.`. */
export async function* prose(chunks: AsyncIterable<string>): AsyncGenerator<Found[]> {
  for await (const lines of numberedLines(chunks))
    yield lines.flatMap(({ text: line, number }) => urlsInProse(line).map((url): Entry => ({ url, line: number })))
}

function urlsInProse(line: string): string[] {
  return [...line.matchAll(IN_PROSE)].map(([url]) => withScheme(withoutEnd(url)))
}

/**
 * The URLs of a line: a word by itself, several words that are all URLs, or, in prose, those with a scheme. A line
 * without any is returned as it is.
 */
export function urlsInLine(line: string): string[] {
  const word = /\s/.test(line) ? '' : unwrapped(line)
  if (/^[a-z][a-z0-9+.-]*:/i.test(word) || lacksScheme(word)) return [withScheme(word)]
  const words = line.split(/[\s,;]+/).filter(Boolean)
  const bare = words.map(unwrapped)
  if (bare.every((each) => /^https?:\/\//i.test(each) || lacksScheme(each))) return bare.map(withScheme)
  const found = urlsInProse(line)
  return found.length > 0 ? found : [line]
}

// Matches a run at an end only from its beginning: tried from each of its characters, a long one takes quadratic time.
const AT_END = /(?<!["'>`\u201c\u201d\u2018\u2019\u00bb,;])["'>`\u201c\u201d\u2018\u2019\u00bb,;]+$/

/** A word without the quotes, brackets and commas around it. */
function unwrapped(word: string): string {
  const inner = word.replace(/^["'<`\u201c\u201d\u2018\u2019\u00ab]+/, '')
  return inner === word ? word.replace(/(?<![,;])[,;]+$/, '') : inner.replace(AT_END, '')
}

/** A URL in prose, without the end of the sentence or the closing bracket around it. */
function withoutEnd(url: string): string {
  let end = url.length
  const excess = PAIRS.map(([open, close]) => ({ close, left: url.split(close).length - url.split(open).length }))
  for (;;) {
    const last = url.charAt(end - 1)
    const pair = excess.find(({ close }) => close === last)
    if (pair ? pair.left <= 0 : !/[.,;:!?'\u2019]/.test(last)) return url.slice(0, end)
    if (pair) pair.left -= 1
    end -= 1
  }
}
