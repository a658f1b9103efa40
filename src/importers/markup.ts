import { dateOf } from './dates.ts'
import { type Attributes, Elements } from './elements.ts'
import type { Entry, Importer } from './entry.ts'
import { tagsOf, tagsOfFolder } from './fields.ts'

/** The role of the text that follows. */
type Text = 'title' | 'note' | 'folder' | undefined

/**
 * HTML with links: bookmarks as browsers and services export them (Netscape's format, Pocket's and Instapaper's lists),
 * or any page. An entry without tags gets those of its folder.
 */
export const markup: Importer = (chunks) => new Links().read(chunks)

class Links extends Elements {
  readonly #folders: (readonly string[])[] = []
  #link: { readonly attributes: Attributes; readonly line: number; title: string; notes: string } | undefined
  /** The tags of the folder whose list comes next. */
  #folder: readonly string[] = []
  #isRoot = false
  #name = ''
  #text: Text
  #base: string | undefined

  protected opened(name: string, attributes: Attributes): void {
    if (name === 'a') {
      this.finish()
      const line = this.line
      if (attributes['href'] !== undefined) this.#link = { attributes, line, title: '', notes: '' }
      this.#text = 'title'
    } else if (name === 'h3' || name === 'h1') {
      this.finish()
      this.#name = ''
      this.#isRoot = 'personal_toolbar_folder' in attributes || 'unfiled_bookmarks_folder' in attributes
      this.#text = 'folder'
    } else if (name === 'dl') {
      this.finish()
      this.#folders.push(this.#folder)
    } else if (name === 'dd') this.#text = 'note'
    else if (name === 'dt' || name === 'li') this.#text = undefined
    else if (name === 'base') this.#base = attributes['href']
  }

  protected said(text: string): void {
    if (this.#text === 'folder') this.#name += text
    else if (this.#link && this.#text === 'title') this.#link.title += text
    else if (this.#link && this.#text === 'note') this.#link.notes += text
  }

  protected closed(name: string): void {
    if (name === 'a') this.#text = undefined
    else if (name === 'h3' || name === 'h1') {
      this.#folder = this.#isRoot ? [] : tagsOfFolder(this.#name)
      this.#text = undefined
    } else if (name === 'dl') {
      this.finish()
      this.#folders.pop()
      this.#folder = this.#folders.at(-1) ?? []
    }
  }

  /** A link is complete when the next one begins: a note may follow it. */
  protected override finish(): void {
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
    this.add(entry)
  }
}
