import { Parser, type ParserOptions } from 'htmlparser2'
import type { Found } from './entry.ts'
import { LineCounter } from './lines.ts'
import { Nesting, TooDeep } from './nesting.ts'

/** The attributes of an element, by name. */
export type Attributes = Readonly<Record<string, string>>

/** Finds entries in a text of elements, as they come: a library that builds all of it would hold 100,000 at once. */
export abstract class Elements {
  readonly #lines = new LineCounter()
  readonly #nesting = new Nesting()
  readonly #parser: Parser
  readonly #found: Found[] = []

  constructor(options?: ParserOptions) {
    this.#parser = new Parser(
      {
        onopentag: (name, attributes) => {
          this.#nesting.open()
          this.opened(name, attributes)
        },
        ontext: (text) => this.said(text),
        onclosetag: (name) => {
          this.#nesting.close()
          this.closed(name)
        },
      },
      options,
    )
  }

  protected abstract opened(name: string, attributes: Attributes): void
  protected abstract said(text: string): void
  protected abstract closed(name: string): void
  /** The rest is not read, or there is none. */
  protected finish(): void {}

  protected add(found: Found): void {
    this.#found.push(found)
  }

  /** The line of the present element. */
  protected get line(): number {
    return this.#lines.at(this.#parser.startIndex)
  }

  /** Yields what is found. */
  async *read(chunks: AsyncIterable<string>): AsyncGenerator<Found[]> {
    for await (const chunk of chunks) {
      this.#lines.next(chunk)
      try {
        this.#parser.write(chunk)
      } catch (error) {
        if (!(error instanceof TooDeep)) throw error
        this.finish()
        this.add({ broken: error.message, line: this.line })
        return yield this.#found.splice(0)
      }
      yield this.#found.splice(0)
    }
    this.#parser.end()
    this.finish()
    yield this.#found.splice(0)
  }
}
