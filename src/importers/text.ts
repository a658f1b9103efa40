import type { Entry, Found } from './entry.ts'
import { numberedLines } from './lines.ts'
import { lacksScheme, withScheme } from './scheme.ts'

const IN_PROSE = /(?:https?:\/\/|www\.)[^\s<>"`{}|\\^\u201c\u201d\u00ab\u00bb]+/gi
/** What counts within such a run of characters: where another URL begins, and brackets. */
const IN_RUN = /https?:\/\/|www\.|[()[\]]|$/gi
const CLOSED_BY = new Map([
  ['(', ')'],
  ['[', ']'],
])
// Matches a run at an end only from its beginning: tried from each of its characters, a long one takes quadratic time.
const AFTER_URL = /(?<![.,;:!?'\u2019\u200b-\u200f\u2060])[.,;:!?'\u2019\u200b-\u200f\u2060]+$/
const AT_END = /(?<!["'>`\u201c\u201d\u2018\u2019\u00bb,;])["'>`\u201c\u201d\u2018\u2019\u00bb,;]+$/

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
  const urls = [...line.matchAll(IN_PROSE)].flatMap(([run]) => urlsInRun(run))
  return urls.map((url) => withScheme(url.replace(AFTER_URL, '')))
}

/**
 * The URLs in a text without blanks. A bracket that closes none of theirs ends them, `[a](https://a.example),[b](...`,
 * unless they go on behind it.
 */
function urlsInRun(run: string): string[] {
  const urls: string[] = []
  const open: string[] = []
  let begin: number | undefined
  const tokens = [...run.matchAll(IN_RUN)]
  const lastUrl = tokens.findLast(([token]) => token.length > 1)?.index ?? 0
  for (const { 0: token, index } of tokens) {
    const close = CLOSED_BY.get(token)
    if (token.length > 1) begin ??= index
    else if (begin === undefined) continue
    else if (close !== undefined) open.push(close)
    else if (open.at(-1) === token) open.pop()
    else if (index >= lastUrl && /[\p{L}\p{N}/_~%=&-]{2}/u.test(around(run, index))) continue
    else {
      urls.push(run.slice(begin, index))
      begin = undefined
      open.length = 0
    }
  }
  return urls
}

/** The characters on both sides of a place in a text. */
const around = (text: string, at: number) => text.slice(Math.max(0, at - 1), at) + text.slice(at + 1, at + 2)

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

/** A word without the quotes, brackets and commas around it. */
function unwrapped(word: string): string {
  const inner = word.replace(/^["'<`\u201c\u201d\u2018\u2019\u00ab]+/, '')
  return inner === word ? word.replace(/(?<![,;])[,;]+$/, '') : inner.replace(AT_END, '')
}
