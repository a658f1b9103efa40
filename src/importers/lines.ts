/** The longest line of a list of URLs; only the beginning of a longer one is read. */
export const LONGEST_LINE = 10_000_000

export interface Line {
  /** Trimmed. */
  readonly text: string
  /** Counted from 1. */
  readonly number: number
}

/** The lines of a text, many at a time as they arrive; they may end in \n, \r\n or \r. */
export async function* numberedLines(chunks: AsyncIterable<string>): AsyncGenerator<Line[]> {
  let line = ''
  let half = ''
  let number = 0
  const lineOf = (text: string): Line => {
    number += 1
    return { text: text.trim(), number }
  }
  for await (const chunk of chunks) {
    const text = half + chunk
    // A \r at the end may be half of a line end.
    half = text.endsWith('\r') ? '\r' : ''
    // The known part of a line is not scanned again.
    const [goesOn = '', ...others] = text.slice(0, text.length - half.length).split(/\r\n|\n|\r/)
    line += goesOn.slice(0, LONGEST_LINE - line.length)
    if (others.length === 0) continue
    const lines = [line, ...others.slice(0, -1)]
    line = others.at(-1)!
    yield lines.map(lineOf)
  }
  yield [lineOf(line)]
}

/** Tells the line of a character, in a text that is passed on chunk by chunk. */
export class LineCounter {
  #chunk = ''
  #begin = 0
  #counted = 0
  #line = 1

  /** The next chunk; positions in earlier ones can no longer be asked for. */
  next(chunk: string): void {
    this.at(this.#begin + this.#chunk.length)
    this.#begin += this.#chunk.length
    this.#chunk = chunk
    this.#counted = 0
  }

  /** @param index of a character, counted from the beginning of the text; not before an earlier one */
  at(index: number): number {
    const end = Math.min(index - this.#begin, this.#chunk.length)
    for (;;) {
      const newline = this.#chunk.indexOf('\n', this.#counted)
      if (newline < 0 || newline >= end) break
      this.#line += 1
      this.#counted = newline + 1
    }
    this.#counted = Math.max(this.#counted, end)
    return this.#line
  }
}
