import { randomBytes } from 'node:crypto'

/** The content of a data URL; a text may itself contain marks of others. */
type Content = { readonly type: string } & ({ readonly body: Buffer } | { readonly text: string })
/** What a mark stands for: content, the address of an existing data URL, or the text of a frame's document. */
type Marked = Content | { readonly address: string } | { readonly document: string }

/** Matches a media type without characters that could end an attribute. */
const TYPE = /^[\w.+-]+\/[\w.+-]+(?:;charset=utf-8)?$/

/**
 * Puts marks for data URLs into a text, which become URLs only when the text is written: a page's pictures, at four
 * thirds of their size, would not fit into a hook's memory. No page can guess a mark, so every mark is ours.
 */
export class DataUrls {
  readonly #name = `archived-${randomBytes(8).toString('hex')}`
  readonly #contents: Marked[] = []
  /** The marks of documents. */
  readonly #documents = new Set<string>()

  /** @returns the mark for this content, which needs no escaping in HTML and CSS */
  add(content: Content | { readonly address: string }): string {
    return `${this.#name}-${this.#contents.push(content) - 1}.`
  }

  /**
   * @returns the mark for the document of a frame
   * @param isUrl whether its frame shows it by its address (`src`), or by its text (`srcdoc`)
   */
  addDocument(html: string, isUrl: boolean): string {
    const content = isUrl ? { type: 'text/html;charset=utf-8', text: html } : { document: html }
    const mark = `${this.#name}-${this.#contents.push(content) - 1}.`
    this.#documents.add(mark)
    return mark
  }

  /** Whether a mark, perhaps with a fragment after it, stands for something that is shown. */
  isShown(address: string): boolean {
    const [mark = ''] = address.split('#', 1)
    return mark.startsWith(this.#name) && /^-\d+\.$/.test(mark.slice(this.#name.length)) && !this.#documents.has(mark)
  }

  isDocument(address: string): boolean {
    return this.#documents.has(address)
  }

  /** Replaces the marks in a text by what they stand for, piece by piece. */
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

/** An address that cannot end an attribute, a string in a style sheet or a list of pictures. */
function inAttribute(address: string): string {
  return address.replace(/[^!#-%*-;=?-[\]^_a-z{|}~]/gu, percent)
}

const percent = (char: string) =>
  Array.from(Buffer.from(char), (byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')

/** As a value between `"`; most pieces have nothing to escape. */
function escaped(html: string): string {
  return html.replace(/[&"<>\u00a0]/g, (char) => `&#${char.charCodeAt(0)};`)
}
