import { randomBytes } from 'node:crypto'

/** What a data URL holds; a text may itself contain marks of others. */
type Content = { readonly type: string } & ({ readonly body: Buffer } | { readonly text: string })

/**
 * Marks in a text for data URLs, which are made only when the text is written: a page's pictures, four thirds their
 * size, would not fit into a hook's memory.
 */
export class DataUrls {
  readonly #name = `archived-${randomBytes(8).toString('hex')}`
  readonly #contents: Content[] = []

  /** The mark for one. It needs no escaping in HTML and CSS. */
  add(content: Content): string {
    return `${this.#name}-${this.#contents.push(content) - 1}.`
  }

  /** A text with its data URLs, piece by piece. */
  *pieces(text: string): Generator<string, void> {
    let written = 0
    for (const { 0: mark, 1: number, index } of text.matchAll(new RegExp(`${this.#name}-(\\d+)\\.`, 'g'))) {
      yield text.slice(written, index)
      yield this.#url(this.#contents[Number(number)]!)
      written = index + mark.length
    }
    yield text.slice(written)
  }

  #url(content: Content): string {
    const body = 'text' in content ? Buffer.from([...this.pieces(content.text)].join('')) : content.body
    return `data:${content.type};base64,${body.toString('base64')}`
  }
}
