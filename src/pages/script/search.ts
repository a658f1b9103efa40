import type { Outcome } from '../index-line.ts'
import { besideWords, type Filters, matches } from './controls.ts'
import type { Entry } from './entry.ts'

/** The length of a slice, short enough not to delay typing. */
const SLICE_MS = 8
/** How often the matches are shown while a search goes on. */
const SHOW_MS = 120
const AT_ONCE = 256

/** How many pages have each outcome; '' is any. */
export type Counts = Record<Outcome | '', number>

export interface Found {
  readonly entries: readonly Entry[]
  readonly counts: Readonly<Counts>
  /** How many pages have their text on other nodes, by the names of these: it was not searched. */
  readonly unread: ReadonlyMap<string, number>
}

/** A completed search. */
interface Searched extends Found {
  readonly key: string
  readonly terms: string
  readonly beside: string
}

/** Searches all pages, a slice at a time: the first matches are shown first, and the next letter ends it. */
export class Search {
  #round = 0
  #last: Searched | undefined

  /** The pages have changed. */
  forget(): void {
    this.#last = undefined
  }

  /** @param show is called with the matches so far; `isOver`: these are all */
  run(all: readonly Entry[], filters: Filters, show: (found: Found, isOver: boolean) => void): void {
    const round = ++this.#round
    const key = JSON.stringify({ ...filters, outcome: '', thumbs: '' })
    const last = this.#last
    if (last?.key === key) {
      show(last, true)
      return
    }
    const terms = filters.terms.join(' ')
    const beside = besideWords(filters)
    const isWithin = last?.beside === beside && terms.startsWith(last.terms)
    const source = isWithin ? last.entries : all
    const counts: Counts = { '': 0, archived: 0, partial: 0, failed: 0 }
    const entries: Entry[] = []
    const unread = new Map(isWithin ? last.unread : [])
    let at = 0
    let nextShow = 0
    const slice = () => {
      if (round !== this.#round) return
      const until = performance.now() + SLICE_MS
      do {
        for (const entry of source.slice(at, at + AT_ONCE)) {
          const isMatch = matches(entry, filters)
          if (!isWithin && entry.unread !== '') unread.set(entry.unread, (unread.get(entry.unread) ?? 0) + 1)
          if (!isMatch) continue
          entries.push(entry)
          counts[''] += 1
          if (entry.outcome !== '') counts[entry.outcome] += 1
        }
        at += AT_ONCE
      } while (at < source.length && performance.now() < until)
      const isOver = at >= source.length
      if (isOver) this.#last = { key, entries, counts, unread, terms, beside }
      if (isOver || performance.now() > nextShow) {
        show({ entries, counts, unread }, isOver)
        nextShow = performance.now() + SHOW_MS
      }
      if (!isOver) setTimeout(slice)
    }
    slice()
  }
}
