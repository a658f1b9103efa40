import { number } from '../../base/words.ts'
import { element } from '../markup.ts'
import type { Choice, Controls } from './controls.ts'
import { draw, make, need } from './dom.ts'
import type { Entry } from './entry.ts'

/** How many values of a filter are offered. */
const MOST = 500
/** How many causes are shown at once; the others open by a click. */
const LISTED = 6
const FOLDED = 200

type Tally = Map<string, number>
type Tallied = readonly [value: string, pages: number]

/** How often pages have each value of the filters. */
class Tallies {
  readonly of: Readonly<Record<Choice, Tally>> = { host: new Map(), tag: new Map(), cause: new Map() }
  /** Causes that left some page without a copy. */
  readonly fatal = new Set<string>()

  constructor(entries: readonly Entry[]) {
    for (const entry of entries) {
      this.#add('host', entry.host)
      for (const tag of entry.tags) this.#add('tag', tag)
      this.#add('cause', entry.cause)
      if (entry.outcome === 'failed') this.fatal.add(entry.cause)
    }
  }

  /** The values, the most frequent first. */
  ranked(choice: Choice): Tallied[] {
    return [...this.of[choice]].sort(([, a], [, b]) => b - a)
  }

  #add(choice: Choice, value: string): void {
    const tally = this.of[choice]
    if (value !== '') tally.set(value, (tally.get(value) ?? 0) + 1)
  }
}

/**
 * Fills in the values that filters offer, and for a crawl its failures with their causes: a click shows the pages.
 * @param changed is called when a cause was chosen
 */
export function fillChoices(
  controls: Controls,
  entries: readonly Entry[],
  { isCrawl, changed }: { readonly isCrawl: boolean; readonly changed: () => void },
): void {
  const tallies = new Tallies(entries)
  for (const choice of ['host', 'tag', 'cause'] as const) fill(controls.select(choice), choice, tallies.ranked(choice))
  if (isCrawl) showCauses(controls, tallies, changed)
}

function fill(select: HTMLSelectElement, choice: Choice, ranked: readonly Tallied[]): void {
  const chosen = select.value
  const values = ranked.slice(0, MOST)
  if (chosen !== '' && !values.some(([value]) => value === chosen)) values.push([chosen, 0])
  const options = values.map(([value, pages]) => new Option(`${value} (${number(pages)})`, value))
  select.replaceChildren(new Option('any', ''), ...options)
  select.value = chosen
  const least = chosen === '' && choice !== 'tag' ? 2 : 1
  const label = select.closest('label')
  if (label) label.hidden = values.length < least
}

function showCauses(controls: Controls, tallies: Tallies, changed: () => void): void {
  const causes = tallies.ranked('cause')
  const box = need('#causes')
  box.hidden = causes.length === 0
  const button = ([cause, pages]: Tallied) => {
    const kind = tallies.fatal.has(cause) ? 'failed' : 'partial'
    const [much, why] = [element('b', {}, number(pages)), element('bdi', {}, cause)]
    const drawn = draw(element('button', { type: 'button', class: kind }, much, why))
    drawn.addEventListener('click', () => {
      const select = controls.select('cause')
      select.value = select.value === cause ? '' : cause
      changed()
    })
    return drawn
  }
  const rest = causes.slice(LISTED)
  const more = make(
    'details',
    {},
    element('summary', {}, `${number(rest.length)} more cause${rest.length === 1 ? '' : 's'}`),
  )
  more.append(...rest.slice(0, FOLDED).map(button))
  box.replaceChildren(
    make('h2', {}, 'What failed'),
    ...causes.slice(0, LISTED).map(button),
    ...(rest.length > 0 ? [more] : []),
  )
}
