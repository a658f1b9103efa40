import { Parser } from 'htmlparser2'
import { dateOf } from './dates.ts'
import type { Entry, Found } from './entry.ts'
import { tagsOf, tagsOfFolder } from './fields.ts'
import { LineCounter } from './lines.ts'
import { Nesting, TooDeep } from './nesting.ts'

type Attributes = Readonly<Record<string, string>>

interface Item {
  readonly depth: number
  readonly line: number
  link: string
  /** Identifies the item if it has no link: a permalink, or RDF's subject. */
  id: string
  title: string
  date: string
  readonly tags: string[]
}

/** Feeds (RSS, Atom, RDF) and lists of feeds (OPML): a feed's items; the sites of an OPML list, else their feeds. */
export async function* feed(chunks: AsyncIterable<string>): AsyncGenerator<Found[]> {
  const items = new Items()
  for await (const chunk of chunks) {
    const goesOn = items.write(chunk)
    yield items.take()
    if (!goesOn) return
  }
  items.end()
  yield items.take()
}

// A library that builds the whole feed would hold 100,000 items at once.
class Items {
  readonly #lines = new LineCounter()
  readonly #nesting = new Nesting()
  readonly #parser: Parser
  readonly #open: string[] = []
  /** Names of OPML's folders, '' for other outlines. */
  readonly #outlines: string[] = []
  #found: Found[] = []
  #item: Item | undefined
  #text = ''

  constructor() {
    this.#parser = new Parser(
      {
        onopentag: (name, attributes) => {
          this.#nesting.open()
          this.#start(name, attributes)
        },
        ontext: (text) => {
          this.#text += text
        },
        onclosetag: (name) => {
          this.#nesting.close()
          this.#end(name)
        },
      },
      { xmlMode: true, decodeEntities: true },
    )
  }

  /** @returns false when the rest is not to be read */
  write(chunk: string): boolean {
    this.#lines.next(chunk)
    try {
      this.#parser.write(chunk)
      return true
    } catch (error) {
      if (!(error instanceof TooDeep)) throw error
      this.#found.push({ broken: error.message, line: this.#lines.at(this.#parser.startIndex) })
      return false
    }
  }

  end(): void {
    this.#parser.end()
  }

  take(): Found[] {
    return this.#found.splice(0)
  }

  #start(name: string, attributes: Attributes): void {
    this.#open.push(name)
    this.#text = ''
    const item = this.#item
    if (name === 'outline') this.#outline(attributes)
    else if (!item && (name === 'item' || name === 'entry')) {
      const line = this.#lines.at(this.#parser.startIndex)
      const id = attributes['rdf:about'] ?? ''
      this.#item = { depth: this.#open.length, line, link: '', id, title: '', date: '', tags: [] }
    } else if (item && this.#open.length === item.depth + 1) {
      const { href, rel, term } = attributes
      if (name === 'link' && href !== undefined && (rel === undefined || rel === 'alternate')) item.link ||= href
      if (name === 'category' && term !== undefined) item.tags.push(attributes['label'] ?? term)
      if (name === 'guid' && attributes['isPermaLink'] === 'false') this.#open[this.#open.length - 1] = ''
    }
  }

  #end(name: string): void {
    const item = this.#item
    const isChild = item !== undefined && this.#open.length === item.depth + 1
    const child = this.#open.pop()
    if (name === 'outline') this.#outlines.pop()
    if (!item) return
    if (isChild && child !== undefined) this.#field(item, child, this.#text.trim())
    else if (this.#open.length < item.depth) {
      this.#item = undefined
      const isId = /^https?:\/\//i.test(item.id)
      const { title, tags, line } = item
      this.#found.push({ url: item.link || (isId ? item.id : ''), title, tags, addedAt: dateOf(item.date), line })
    }
  }

  #field(item: Item, name: string, text: string): void {
    if (text === '') return
    if (name === 'link') item.link ||= text
    else if (name === 'guid' || name === 'id') item.id ||= text
    else if (name === 'title') item.title ||= text
    else if (name === 'category' || name === 'dc:subject') item.tags.push(text)
    // When it was published; `updated` only if there is nothing else.
    else if (['pubDate', 'published', 'dc:date', 'date'].includes(name)) item.date = text
    else if (name === 'updated') item.date ||= text
  }

  #outline(attributes: Attributes): void {
    const { htmlUrl, xmlUrl, url: plainUrl, title, text, category, created } = attributes
    const name = title || text || ''
    const url = [htmlUrl, plainUrl, xmlUrl].find((each) => each !== undefined && each.trim() !== '')
    if (url !== undefined) {
      const tags = tagsOf(category)
      const folder = tagsOfFolder(this.#outlines.findLast((each) => each !== '') ?? '')
      const line = this.#lines.at(this.#parser.startIndex)
      const entry: Entry = { url, title: name, tags: tags.length > 0 ? tags : folder, addedAt: dateOf(created), line }
      this.#found.push(entry)
    }
    this.#outlines.push(url === undefined ? name : '')
  }
}
