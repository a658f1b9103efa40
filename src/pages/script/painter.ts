import { type ListLinks, listLinks } from '../links.ts'
import { pageCard, pageRow } from '../page-row.ts'
import { draw, need } from './dom.ts'
import type { Entry } from './entry.ts'

/** Browsers draw nothing that is higher. */
const HIGHEST = 15_000_000
/** On paper there is no sight to follow; nobody prints more rows than this. */
const PRINTED = 500
/** Rows beside those in sight. */
const BESIDE = 3

/** Draws the pages of a list that are in sight. */
export class Painter {
  readonly #list = need('#list')
  readonly #links: ListLinks
  #entries: readonly Entry[] = []
  #terms: readonly string[] = []
  /** What is drawn: pictures stay while the list is scrolled. */
  #drawn = new Map<Entry, HTMLElement>()
  #frame = 0

  /** @param top the way to the top of the archive */
  constructor(top: string) {
    this.#links = listLinks(top)
  }

  /** Where the list begins. */
  get offsetTop(): number {
    return this.#list.offsetTop
  }

  /** Shows these from now on, with the words of a search marked. */
  show(entries: readonly Entry[], terms: readonly string[], isGrid: boolean): void {
    this.#list.classList.toggle('thumbs', isGrid)
    this.#entries = entries
    this.#terms = terms
    this.#drawn = new Map()
    this.paint()
  }

  paintSoon(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.paint())
  }

  /** Draws what goes on paper. @returns how many that are, where it is not all */
  print(): number | undefined {
    this.paint(PRINTED)
    const { length } = this.#list.children
    return length < this.#entries.length ? length : undefined
  }

  /**
   * Draws the rows that are in sight, and a few beside them.
   * @param printed on paper, so many from the first on
   */
  paint(printed = 0): void {
    this.#frame = 0
    const list = this.#list
    const entries = this.#entries
    const style = getComputedStyle(list)
    const height = Number.parseFloat(style.getPropertyValue('--row'))
    const isGrid = list.classList.contains('thumbs')
    const columns = isGrid
      ? Math.max(1, Math.floor(list.clientWidth / Number.parseFloat(style.getPropertyValue('--column'))))
      : 1
    const rows = Math.min(Math.ceil(entries.length / columns), Math.floor(HIGHEST / height))
    list.style.setProperty('--height', `${rows * height}px`)
    const { top } = list.getBoundingClientRect()
    const first = printed > 0 ? 0 : Math.max(0, Math.floor(-top / height) - BESIDE)
    const last = Math.min(rows, printed || Math.ceil((innerHeight - top) / height) + BESIDE)
    const drawn = new Map<Entry, HTMLElement>()
    const width = 100 / columns
    for (const [index, entry] of entries.slice(first * columns, last * columns).entries()) {
      const at = first * columns + index
      const item = this.#drawn.get(entry) ?? this.#draw(entry, isGrid)
      drawn.set(entry, item)
      item.style.setProperty('--top', `${Math.floor(at / columns) * height}px`)
      item.style.setProperty('--left', `${(at % columns) * width}%`)
      item.style.setProperty('--width', `${width}%`)
      item.setAttribute('aria-setsize', String(entries.length))
      item.setAttribute('aria-posinset', String(at + 1))
    }
    this.#drawn = drawn
    this.#replace([...drawn.values()])
  }

  #draw(entry: Entry, isGrid: boolean): HTMLElement {
    const { seconds, outcome, tags, rest } = entry
    const page = { seconds, outcome, tags, ...rest, links: this.#links, terms: this.#terms }
    return draw(isGrid ? pageCard(page) : pageRow(page))
  }

  /** A link that has the focus keeps it. */
  #replace(items: readonly HTMLElement[]): void {
    const { activeElement } = document
    const focused = this.#list.contains(activeElement) ? activeElement?.getAttribute('href') : undefined
    this.#list.replaceChildren(...items)
    if (focused === undefined) return
    const links = [...this.#list.querySelectorAll('a')]
    links.find((link) => link.getAttribute('href') === focused)?.focus({ preventScroll: true })
  }
}
