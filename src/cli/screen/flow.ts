import { cutMiddle } from './fit.ts'
import { widthOf } from './width.ts'

/** A text that is never broken in two, and its style. */
export interface Part {
  readonly text: string
  readonly style?: (text: string) => string
}

/**
 * Puts parts into as few lines of at most `width` columns as possible; a longer part is cut in its middle.
 * @param between separates two parts; at the end of a line, without the blanks
 * @param used columns of the first line that are taken already
 */
export function flow(parts: readonly Part[], between: string, width: number, used = 0): string[] {
  const end = between.trimEnd()
  const lines: string[] = []
  let left = 0
  parts.forEach(({ text, style = plain }, index) => {
    const mark = index === parts.length - 1 ? '' : end
    const needed = widthOf(text) + mark.length
    // A part that would be cut on the rest of the first line goes below.
    if (lines.length === 0 && needed > width - used && used > 0) lines.push('')
    const isFirst = lines.length === 0
    const gap = isFirst ? 0 : between.length - end.length
    if (!isFirst && gap + needed <= left) {
      lines.push(`${lines.pop()}${between.slice(end.length)}${style(text)}${mark}`)
      left -= gap + needed
    } else {
      const room = width - (isFirst ? used : 0)
      const short = cutMiddle(text, room - mark.length)
      lines.push(`${style(short)}${mark}`)
      left = room - widthOf(short) - mark.length
    }
  })
  return lines
}

/** A text in lines of at most `width` columns, broken between words. */
export function wrapped(text: string, width: number, style: (text: string) => string = plain): string[] {
  const words = text.split(' ').filter(Boolean)
  return flow(
    words.map((word) => ({ text: word })),
    ' ',
    width,
  ).map(style)
}

/** The same, but unchanged when one of its words is longer than a line: that is a path or URL, for copying. */
export function wrappedUncut(text: string, width: number): string[] {
  return text.split(' ').every((word) => widthOf(word) <= width) ? wrapped(text, width) : [text]
}

const plain = (text: string) => text
