import { dateOf } from './dates.ts'
import { type Attributes, Elements } from './elements.ts'
import type { Entry, Importer } from './entry.ts'
import { entryOf, tagsOf, tagsOfFolder } from './fields.ts'

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

/** What is an item beside `item` and `entry`, by the root of the document. */
const ITEMS = new Map([
  ['urlset', 'url'],
  ['sitemapindex', 'sitemap'],
])

/**
 * Feeds (RSS, Atom, RDF), sitemaps, and lists of feeds (OPML): a feed's items; the sites of an OPML list, else their
 * feeds. Also the posts of Pinboard's XML.
 */
export const feed: Importer = (chunks) => new Items({ xmlMode: true, decodeEntities: true }).read(chunks)

class Items extends Elements {
  readonly #open: string[] = []
  /** Names of OPML's folders, '' for other outlines. */
  readonly #outlines: string[] = []
  #item: Item | undefined
  #text = ''
  /** That of the root, with its colon: the names within have it, too. */
  #prefix = ''

  protected said(text: string): void {
    this.#text += text
  }

  protected opened(given: string, attributes: Attributes): void {
    if (this.#open.length === 0) this.#prefix = /^\w+:/.exec(given)?.[0] ?? ''
    const name = given.startsWith(this.#prefix) ? given.slice(this.#prefix.length) : given
    this.#open.push(name)
    this.#text = ''
    const item = this.#item
    if (name === 'outline') this.#outline(attributes)
    else if (name === 'post' && this.#open[0] === 'posts')
      this.add(entryOf({ extended: '', ...attributes, tags: attributes['tag'] }, this.line))
    else if (!item && (name === 'item' || name === 'entry' || name === ITEMS.get(this.#open[0]!))) {
      const line = this.line
      const id = attributes['rdf:about'] ?? ''
      this.#item = { depth: this.#open.length, line, link: '', id, title: '', date: '', tags: [] }
    } else if (item && this.#open.length === item.depth + 1) {
      const { href, rel, term } = attributes
      if (name === 'link' && href !== undefined && (rel === undefined || rel === 'alternate')) item.link ||= href
      if (name === 'category' && term !== undefined) item.tags.push(attributes['label'] ?? term)
      if (name === 'guid' && attributes['isPermaLink'] === 'false') this.#open[this.#open.length - 1] = ''
    }
  }

  protected closed(name: string): void {
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
      this.add({ url: item.link || (isId ? item.id : ''), title, tags, addedAt: dateOf(item.date), line })
    }
  }

  #field(item: Item, name: string, text: string): void {
    if (text === '') return
    if (name === 'link' || name === 'loc') item.link ||= text
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
      const line = this.line
      const entry: Entry = { url, title: name, tags: tags.length > 0 ? tags : folder, addedAt: dateOf(created), line }
      this.add(entry)
    }
    this.#outlines.push(url === undefined ? name : '')
  }
}
