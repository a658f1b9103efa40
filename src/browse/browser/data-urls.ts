import { randomBytes } from 'node:crypto'

/** What a data URL holds; a text may itself contain marks of others. */
type Content = { readonly type: string } & ({ readonly body: Buffer } | { readonly text: string })
/** What a mark stands for: also the address of a data URL that is there already, and the text of a frame's document. */
type Marked = Content | { readonly address: string } | { readonly document: string }

/** A media type has no characters that could end an attribute. */
const TYPE = /^[\w.+-]+\/[\w.+-]+(?:;charset=utf-8)?$/

/**
 * Marks in a text for data URLs, which are made only when the text is written: a page's pictures, four thirds their
 * size, would not fit into a hook's memory. No page can guess one, so what has a mark is ours.
 */
export class DataUrls {
  readonly #name = `archived-${randomBytes(8).toString('hex')}`
  readonly #contents: Marked[] = []
  /** Those of documents. */
  readonly #documents = new Set<string>()

  /** The mark for one. It needs no escaping in HTML and CSS. */
  add(content: Content | { readonly address: string }): string {
    return `${this.#name}-${this.#contents.push(content) - 1}.`
  }

  /**
   * The mark for a document in a frame.
   * @param isUrl its frame shows it by its address (`src`), not by its text (`srcdoc`)
   */
  addDocument(html: string, isUrl: boolean): string {
    const content = isUrl ? { type: 'text/html;charset=utf-8', text: html } : { document: html }
    const mark = `${this.#name}-${this.#contents.push(content) - 1}.`
    this.#documents.add(mark)
    return mark
  }

  /** Does a mark, or one with a part behind it, stand for something that is shown? */
  isShown(address: string): boolean {
    const [mark = ''] = address.split('#', 1)
    return mark.startsWith(this.#name) && /^-\d+\.$/.test(mark.slice(this.#name.length)) && !this.#documents.has(mark)
  }

  isDocument(address: string): boolean {
    return this.#documents.has(address)
  }

  /** A text with what its marks stand for, piece by piece. */
  *pieces(text: string): Generator<string, void> {
    let written = 0
    for (const { 0: mark, 1: number, index } of text.matchAll(new RegExp(`${this.#name}-(\\d+)\\.`, 'g'))) {
      yield text.slice(written, index)
      yield* this.#written(this.#contents[Number(number)]!)
      written = index + mark.length
    }
    yield text.slice(written)
  }

  *#written(content: Marked): Generator<string, void> {
    if ('address' in content) yield inAttribute(content.address)
    else if ('document' in content) {
      for (const piece of this.pieces(content.document)) yield escaped(piece)
    } else {
      const body = 'text' in content ? Buffer.from([...this.pieces(content.text)].join('')) : content.body
      const type = TYPE.test(content.type) ? content.type : 'application/octet-stream'
      yield `data:${type};base64,${body.toString('base64')}`
    }
  }
}

/** An address that ends no attribute, no string of a style sheet and no list of pictures. */
function inAttribute(address: string): string {
  return address.replace(/[^!#-%*-;=?-[\]^_a-z{|}~]/gu, percent)
}

const percent = (char: string) =>
  Array.from(Buffer.from(char), (byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')

/** As a value between `"`; most pieces have nothing to escape. */
function escaped(html: string): string {
  return html.replace(/[&"<>\u00a0]/g, (char) => `&#${char.charCodeAt(0)};`)
}
