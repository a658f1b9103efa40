import { closeSync, createReadStream, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { namelessFile } from '../../base/nameless-file.ts'

/** The number of characters that are sorted in memory. */
const RUN_CHARS = 4 * 1024 * 1024

/** Sorts lines that need not fit into memory, by their bytes (they are ASCII): sorted runs on disk, then merged. */
export class SortedLines {
  readonly #runChars: number
  readonly #runs: number[] = []
  #lines: string[] = []
  #chars = 0

  constructor(runChars = RUN_CHARS) {
    this.#runChars = runChars
  }

  /** @param line ends with its only line feed */
  add(line: string): void {
    this.#lines.push(line)
    this.#chars += line.length
    if (this.#chars >= this.#runChars) this.#endRun()
  }

  /** Yields all lines; no more can be added. */
  async *merged(): AsyncGenerator<string, void> {
    if (this.#runs.length === 0) return yield* this.#lines.sort(byBytes)
    this.#endRun()
    const sources = await Promise.all(this.#runs.map(async (run) => await Source.of(run)))
    for (let open = sources.filter(({ line }) => line !== undefined); open.length > 0; ) {
      const next = open.reduce((least, source) => (source.line! < least.line! ? source : least))
      yield `${next.line}\n`
      await next.advance()
      if (next.line === undefined) open = open.filter((source) => source !== next)
    }
  }

  /** Deletes the files on disk. */
  close(): void {
    for (const run of this.#runs.splice(0)) closeSync(run)
  }

  #endRun(): void {
    const run = namelessFile()
    writeFileSync(run, this.#lines.sort(byBytes).join(''))
    this.#runs.push(run)
    this.#lines = []
    this.#chars = 0
  }
}

/** A sorted run, and its current line. */
class Source {
  line: string | undefined
  readonly #lines: AsyncIterator<string>

  private constructor(file: number) {
    const input = createReadStream('', { fd: file, start: 0, autoClose: false })
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
    this.#lines = lines[Symbol.asyncIterator]()
  }

  static async of(file: number): Promise<Source> {
    const source = new Source(file)
    await source.advance()
    return source
  }

  async advance(): Promise<void> {
    const { value, done } = await this.#lines.next()
    this.line = done ? undefined : (value as string)
  }
}

export const byBytes = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
