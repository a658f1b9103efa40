/** The end of a table's rows: a line of its own that no row can be. */
const END = Buffer.from('\n\\.\n')

/** The text of a backup: for each table a line that names it, its rows, and a line `\.`. */
export class CopyText {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  static begin(name: string): string {
    return `table ${name}\n`
  }

  static readonly end = '\\.\n'

  /** The name of the next table; undefined: there is none. Its rows must be read before the next one. */
  async table(): Promise<string | undefined> {
    let end = this.#rest.indexOf('\n')
    while (end < 0 && (await this.#more())) end = this.#rest.indexOf('\n')
    if (end < 0) return undefined
    const line = this.#rest.subarray(0, end).toString()
    this.#rest = this.#rest.subarray(end) // Its line end may begin the end of the rows.
    return line.slice(CopyText.begin('').length - 1)
  }

  /** The rows of that table, cut anywhere. Throws when the text ends within them. */
  async *rows(): AsyncGenerator<Buffer> {
    for (let skip = 1; ; ) {
      const end = this.#rest.indexOf(END)
      // A possible beginning of the end is left for later.
      const upTo = end >= 0 ? end + 1 : this.#rest.length - END.length + 1
      if (upTo > skip) {
        yield this.#rest.subarray(skip, upTo)
        this.#rest = this.#rest.subarray(upTo - (end >= 0 ? 1 : 0))
        skip = 0
      }
      if (end >= 0) break
      if (!(await this.#more())) throw new Error('the text of the backup ends within the rows of a table')
    }
    this.#rest = this.#rest.subarray(this.#rest.indexOf(END) + END.length)
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#chunks.next()
    if (done) return false
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value])
    return true
  }
}
