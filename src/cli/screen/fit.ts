import { characters, widthOf } from './width.ts'

const MARK = '…'
/** No terminal shows more characters of an untrusted text than this: the rest need not be measured. */
const MOST = 10_000

/** The text in at most `width` columns, its end cut off. */
export function cutEnd(text: string, width: number): string {
  const some = text.slice(0, MOST)
  if (widthOf(some) <= width) return some
  return width <= 0 ? '' : `${taken(characters(some), width - 1).trimEnd()}${MARK}`
}

/** The text in at most `width` columns, its middle cut out: both ends of a URL matter. */
export function cutMiddle(text: string, width: number): string {
  const some = text.length > MOST ? `${text.slice(0, MOST / 2)}${text.slice(-MOST / 2)}` : text
  if (widthOf(some) <= width) return some
  if (width <= 0) return ''
  const all = characters(some)
  const head = taken(all, Math.ceil((width - 1) / 2))
  const tail = taken(all.toReversed(), width - 1 - widthOf(head), true)
  return `${head}${MARK}${tail}`
}

/** A URL in at most `width` columns: loses its scheme first, then its middle. */
export function cutUrl(url: string, width: number): string {
  return widthOf(url) <= width ? url : cutMiddle(url.replace(/^https?:\/\//i, ''), width)
}

/** The text, padded with blanks to `width` columns. */
export function padEnd(text: string, width: number): string {
  return `${text}${' '.repeat(Math.max(0, width - widthOf(text)))}`
}

/** The same, with the blanks before it. */
export function padStart(text: string, width: number): string {
  return `${' '.repeat(Math.max(0, width - widthOf(text)))}${text}`
}

/** As many of the first characters as fit into `width` columns; of the last ones, when given backwards. */
function taken(all: readonly string[], width: number, backwards = false): string {
  const some: string[] = []
  let left = width
  for (const character of all) {
    left -= widthOf(character)
    if (left < 0) break
    some.push(character)
  }
  return (backwards ? some.reverse() : some).join('')
}
