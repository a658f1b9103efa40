/**
 * Renders the text that was written to a terminal: moves the cursor, erases, scrolls and wraps, and supports nothing
 * else.
 */
export class SmallTerminal {
  readonly #columns: number
  readonly #rows: number
  #lines: string[][] = [[]]
  #row = 0
  #column = 0

  constructor(columns: number, rows = 1_000) {
    this.#columns = columns
    this.#rows = rows
  }

  write(text: string): this {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is understood
    for (const [token] of text.matchAll(/\u001b\[[?0-9;]*[A-Za-z]|[\s\S]/g)) this.#take(token)
    return this
  }

  /** The lines, without trailing blanks. */
  get lines(): string[] {
    return this.#lines.map((line) =>
      Array.from(line, (char) => char ?? ' ')
        .join('')
        .trimEnd(),
    )
  }

  #take(token: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
    const sequence = /^\u001b\[([?0-9;]*)([A-Za-z])$/.exec(token)
    if (token === '\r') this.#column = 0
    else if (token === '\n') this.#down()
    else if (!sequence) this.#put(token)
    else this.#obey(sequence[2]!, sequence[1]!)
  }

  #obey(command: string, numbers: string): void {
    const [first = 0, second = 0] = numbers.split(';').map(Number)
    if (command === 'A') this.#row = Math.max(0, this.#row - (first || 1))
    else if (command === 'B') this.#row = Math.min(this.#row + (first || 1), this.#lines.length - 1)
    else if (command === 'H') [this.#row, this.#column] = [Math.max(0, first - 1), Math.max(0, second - 1)]
    else if (command === 'K') this.#line().splice(first === 2 ? 0 : this.#column)
    else if (command === 'J') {
      this.#line().splice(this.#column)
      this.#lines.splice(this.#row + 1)
    } else if (!(command === 'm' || numbers.startsWith('?'))) throw new Error(`not understood: ${command}`)
  }

  #put(char: string): void {
    if (this.#column === this.#columns) {
      this.#column = 0
      this.#down()
    }
    this.#line()[this.#column] = char
    this.#column += 1
  }

  #down(): void {
    this.#row += 1
    this.#line()
    if (this.#lines.length > this.#rows) {
      this.#lines.shift()
      this.#row -= 1
    }
  }

  #line(): string[] {
    while (this.#lines.length <= this.#row) this.#lines.push([])
    return this.#lines[this.#row]!
  }
}
