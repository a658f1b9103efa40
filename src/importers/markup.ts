import { Parser } from 'htmlparser2'
import { dateOf } from './dates.ts'
import type { Entry, Found } from './entry.ts'
import { tagsOf, tagsOfFolder } from './fields.ts'
import { LineCounter } from './lines.ts'
import { Nesting, TooDeep } from './nesting.ts'

type Attributes = Readonly<Record<string, string>>
/** The role of the text that follows. */
type Text = 'title' | 'note' | 'folder' | undefined

/**
 * HTML with links: bookmarks as browsers and services export them (Netscape's format, Pocket's and Instapaper's lists),
 * or any page. An entry without tags gets those of its folder.
 */
export async function* markup(chunks: AsyncIterable<string>): AsyncGenerator<Found[]> {
  const links = new Links()
  for await (const chunk of chunks) {
    const goesOn = links.write(chunk)
    yield links.take()
    if (!goesOn) return
  }
  links.end()
  yield links.take()
}

class Links {
  readonly #lines = new LineCounter()
  readonly #folders: (readonly string[])[] = []
  readonly #nesting = new Nesting()
  readonly #parser: Parser
  #found: Found[] = []
  #link: { readonly attributes: Attributes; readonly line: number; title: string; notes: string } | undefined
  /** The tags of the folder whose list comes next. */
  #folder: readonly string[] = []
  #isRoot = false
  #name = ''
  #text: Text
  #base: string | undefined

  constructor() {
    this.#parser = new Parser({
      onopentag: (name, attributes) => {
        this.#nesting.open()
        this.#open(name, attributes)
      },
      ontext: (text) => this.#add(text),
      onclosetag: (name) => {
        this.#nesting.close()
        this.#close(name)
      },
    })
  }

  /** @returns false when the rest is not to be read */
  write(chunk: string): boolean {
    this.#lines.next(chunk)
    try {
      this.#parser.write(chunk)
      return true
    } catch (error) {
      if (!(error instanceof TooDeep)) throw error
      this.#finish()
      this.#found.push({ broken: error.message, line: this.#lines.at(this.#parser.startIndex) })
      return false
    }
  }

  end(): void {
    this.#parser.end()
    this.#finish()
  }

  take(): Found[] {
    return this.#found.splice(0)
  }

  #open(name: string, attributes: Attributes): void {
    if (name === 'a') {
      this.#finish()
      const line = this.#lines.at(this.#parser.startIndex)
      if (attributes['href'] !== undefined) this.#link = { attributes, line, title: '', notes: '' }
      this.#text = 'title'
    } else if (name === 'h3' || name === 'h1') {
      this.#finish()
      this.#name = ''
      this.#isRoot = 'personal_toolbar_folder' in attributes || 'unfiled_bookmarks_folder' in attributes
      this.#text = 'folder'
    } else if (name === 'dl') {
      this.#finish()
      this.#folders.push(this.#folder)
    } else if (name === 'dd') this.#text = 'note'
    else if (name === 'dt' || name === 'li') this.#text = undefined
    else if (name === 'base') this.#base = attributes['href']
  }

  #add(text: string): void {
    if (this.#text === 'folder') this.#name += text
    else if (this.#link && this.#text === 'title') this.#link.title += text
    else if (this.#link && this.#text === 'note') this.#link.notes += text
  }

  #close(name: string): void {
    if (name === 'a') this.#text = undefined
    else if (name === 'h3' || name === 'h1') {
      this.#folder = this.#isRoot ? [] : tagsOfFolder(this.#name)
      this.#text = undefined
    } else if (name === 'dl') {
      this.#finish()
      this.#folders.pop()
      this.#folder = this.#folders.at(-1) ?? []
    }
  }

  /** A link is complete when the next one begins: a note may follow it. */
  #finish(): void {
    const link = this.#link
    this.#link = undefined
    this.#text = undefined
    const href = link?.attributes['href']?.trim()
    if (!link || href === undefined || href === '' || href.startsWith('#') || href.startsWith('place:')) return
    const { attributes, line, title, notes } = link
    const tags = tagsOf(attributes['tags'])
    const entry: Entry = {
      url: this.#base === undefined ? href : (URL.parse(href, this.#base)?.href ?? href),
      title,
      tags: tags.length > 0 ? tags : (this.#folders.at(-1) ?? []),
      notes,
      addedAt: dateOf(attributes['add_date'] ?? attributes['time_added'] ?? attributes['last_visit']),
      line,
    }
    this.#found.push(entry)
  }
}
