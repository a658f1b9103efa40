import { own } from '../../base/own.ts'
import { number } from '../../base/words.ts'
import type { ListData } from '../list-data.ts'
import { arrivals } from './arrivals.ts'
import { fillChoices } from './choices.ts'
import { Controls, type Filters, isNarrowed } from './controls.ts'
import { isTypedInto, load, need } from './dom.ts'
import { Entry } from './entry.ts'
import { Painter } from './painter.ts'
import { afterReload, reloadLater } from './reload.ts'
import { type Found, Search } from './search.ts'

/** How often the list is rendered while chunks arrive. */
const SETTLE_LIST_MS = 150
/** How many chunks are loaded at a time: the latest come first, and the page can be used meanwhile. */
const AT_A_TIME = 2
/** How much of an idle period preparation leaves to the browser. */
const IDLE_MS = 2
/** In browsers without idle callbacks: the length of a slice, and of the pause between two. */
const SLICE_MS = 8
const LATER_MS = 30

/** The list of pages, of the whole archive or of a crawl. */
export class PageList {
  readonly #data: ListData
  readonly #controls = new Controls()
  readonly #painter: Painter
  readonly #search = new Search()
  readonly #found = need('#found')
  /** What the page says of a list without pages. */
  readonly #empty = this.#found.textContent
  /** Entries by chunk; those of the latest chunk come first. */
  readonly #chunks = new Map<number, Entry[]>()
  #all: readonly Entry[] | undefined
  #shown: readonly Entry[] = []
  #isComplete = false
  #isSettling = false
  #touchedAt = 0
  #scrollTo: number | undefined

  constructor(data: ListData) {
    this.#data = data
    this.#painter = new Painter(data.top)
  }

  start(): void {
    this.#controls.form.hidden = false
    this.#controls.restore()
    this.#scrollTo = afterReload(this.#controls)
    const isWide = matchMedia('(min-width: 40.01rem)').matches
    need<HTMLDetailsElement>('.filters').open = isNarrowed(this.#controls.filters) || isWide
    arrivals.onChunk = (chunk) => this.#add(chunk)
    for (const chunk of arrivals.chunks.keys()) this.#add(chunk)
    this.#listen()
    this.#look()
    this.#loadMissing()
  }

  #listen(): void {
    const { form, search } = this.#controls
    const paintSoon = () => {
      this.#touchedAt = performance.now()
      this.#painter.paintSoon()
    }
    form.addEventListener('input', () => this.#changed())
    form.addEventListener('submit', (event) => event.preventDefault())
    addEventListener('scroll', paintSoon, { passive: true })
    addEventListener('resize', paintSoon)
    addEventListener('beforeprint', () => {
      const printed = this.#painter.print()
      if (printed !== undefined) this.#found.append(` · the first ${number(printed)} are printed`)
    })
    addEventListener('afterprint', () => this.#look())
    addEventListener('keydown', (event) => {
      const isOurs = event.key === '/' && !event.ctrlKey && !event.metaKey
      if (!isOurs || isTypedInto(event, /^(INPUT|SELECT|TEXTAREA)$/)) return
      event.preventDefault()
      search.focus()
    })
  }

  #loadMissing(): void {
    const { chunks, top } = this.#data
    const missing = chunks.filter((chunk) => !arrivals.chunks.has(chunk))
    let open = 0
    const next = () => {
      while (open < AT_A_TIME && missing.length > 0) {
        open += 1
        load(`${top}/archive/index/${missing.shift()}.js`, () => {
          open -= 1
          next()
        })
      }
      if (open === 0) this.#complete()
    }
    next()
  }

  #add(chunk: number): void {
    const { crawl } = this.#data
    const lines = (arrivals.chunks.get(chunk) ?? '').split('\n')
    const near = crawl === undefined ? lines : lines.filter((line) => line.includes(crawl))
    const entries = near.map((line) => new Entry(line)).filter((each) => crawl === undefined || each.crawl === crawl)
    arrivals.chunks.set(chunk, '')
    this.#chunks.set(chunk, entries.reverse())
    this.#all = undefined
    this.#search.forget()
    // The latest are shown at once, the others as they come.
    if (this.#chunks.size === 1) this.#look()
    if (this.#isSettling) return
    this.#isSettling = true
    setTimeout(() => {
      this.#isSettling = false
      this.#look()
      this.#fillChoices()
    }, SETTLE_LIST_MS)
  }

  get #entries(): readonly Entry[] {
    this.#all ??= [...this.#chunks].sort(([a], [b]) => b - a).flatMap(([, entries]) => entries)
    return this.#all
  }

  /** All chunks are here. */
  #complete(): void {
    this.#isComplete = true
    this.#look()
    this.#fillChoices()
    this.#prepare()
    const { live, writtenAt = 0, total } = this.#data
    if (live === undefined) return
    const isWhole = () => this.#entries.length >= total
    reloadLater({ live, writtenAt }, this.#controls, isWhole, () => this.#touchedAt)
  }

  /** Prepares everything in lower case, so that the first letter finds it. */
  #prepare(): void {
    const entries = this.#entries.values()
    const prepare = (idle: Pick<IdleDeadline, 'timeRemaining'>) => {
      while (idle.timeRemaining() > IDLE_MS) {
        const { value, done } = entries.next()
        if (done) return
        void value.words
      }
      soon(prepare)
    }
    // Safari does not have it.
    const { requestIdleCallback } = window as Partial<Window>
    const later = (work: typeof prepare) =>
      setTimeout(() => {
        const until = performance.now() + SLICE_MS
        work({ timeRemaining: () => until - performance.now() })
      }, LATER_MS)
    const soon = requestIdleCallback ? (work: typeof prepare) => requestIdleCallback(work) : later
    soon(prepare)
  }

  #fillChoices(): void {
    const isCrawl = this.#data.crawl !== undefined
    fillChoices(this.#controls, this.#entries, { isCrawl, changed: () => this.#changed() })
  }

  #changed(): void {
    this.#touchedAt = performance.now()
    this.#controls.keep()
    scrollTo({ top: Math.min(scrollY, this.#painter.offsetTop) })
    this.#look()
  }

  #look(): void {
    const { filters } = this.#controls
    this.#search.run(this.#entries, filters, (found, isOver) => this.#show(found, filters, isOver))
  }

  #show({ entries, counts, unread }: Found, filters: Filters, isOver: boolean): void {
    const { outcome, terms, thumbs } = filters
    this.#shown = outcome === '' ? entries : entries.filter((entry) => entry.outcome === outcome)
    for (const label of this.#controls.form.querySelectorAll('.outcomes label')) {
      const { value } = need<HTMLInputElement>('input', label)
      need('b', label).textContent = number(own<number>(counts, value) ?? 0)
    }
    // If the power failed, the latest pages are missing until the crawl goes on.
    const isAll = isOver && this.#isComplete && this.#entries.length >= this.#data.total
    const lacks = terms.length === 0 ? [] : [...unread]
    this.#found.textContent =
      this.#foundText(isAll ? '' : ' so far') +
      lacks.map(([node, pages]) => ` · without the text of ${number(pages)} on node ${node}`).join('')
    this.#painter.show(this.#shown, terms, thumbs)
    if (this.#scrollTo === undefined || !this.#isComplete) return
    scrollTo(0, this.#scrollTo)
    this.#scrollTo = undefined
    this.#painter.paint()
  }

  #foundText(soFar: string): string {
    const { total } = this.#data
    const [all, shown] = [this.#entries.length, this.#shown.length]
    if (all === 0) return total === 0 ? this.#empty : 'The list comes in a moment …'
    if (shown < all) return `${number(shown)} of ${number(Math.max(total, all))} pages${soFar}`
    return `${number(shown)}${soFar && ` of ${number(total)}`} page${total === 1 ? '' : 's'}${soFar}`
  }
}
