import { number } from '../../base/words.ts'
import type { PageCopy } from '../../db/archived-pages.ts'
import { type Html, html } from '../../pages/html.ts'
import { time } from '../../pages/layout.ts'

/** Copies beside the one that is shown, on either side. */
const BESIDE = 12
/** How wide the line is drawn, in its own units. */
const WIDTH = 1000

/** A copy on the line of time. */
interface Dated extends Pick<PageCopy, 'id' | 'outcome'> {
  readonly at: Date
}

/**
 * The copies of a URL in the order of time, with the one that is shown.
 * @param here the one that is shown, which may not be finished
 */
export function inTime(copies: readonly PageCopy[], here: Dated): Dated[] {
  const others = copies.filter(({ id }) => id !== here.id).map(({ sealed_at: at, ...copy }) => ({ ...copy, at }))
  return [...others, here].sort((a, b) => a.at.getTime() - b.at.getTime())
}

/** The copies around the one that is shown, as links. @param all in the order of time */
export function datesNav(all: readonly Dated[], here: string): Html {
  const place = all.findIndex(({ id }) => id === here)
  const from = Math.max(0, place - BESIDE)
  const shown = all.slice(from, place + BESIDE + 1)
  const step = (copy: Dated | undefined, name: string, sign: string, rel: string) =>
    copy && html`<a href="/snapshots/${copy.id}" rel="${rel}" aria-label="${name}">${sign}</a>`
  const chip = ({ id, outcome, at }: Dated) =>
    id === here
      ? html`<b aria-current="true">${time(at)}</b>\n`
      : html`<a class="${outcome}" href="/snapshots/${id}" title="${outcome}">${time(at)}</a>\n`
  const beside = (count: number, which: string) => (count > 0 ? html`<small>${number(count)} ${which}</small>` : '')
  return html`<nav class="dates" id="copies" data-live aria-label="Copies of this page">
${step(all[place - 1], 'The copy before', '‹', 'prev')}
${beside(from, 'earlier')}${shown.map(chip)}${beside(all.length - from - shown.length, 'later')}
${step(all[place + 1], 'The next copy', '›', 'next')}</nav>`
}

/** The same on a line, by how far they are from each other. Nothing for a single copy. */
export function timeline(all: readonly Dated[], here: string, isAll: boolean): Html {
  const [first, last] = [all[0], all.at(-1)]
  if (all.length < 2 || !first || !last) return html``
  const span = Math.max(1, last.at.getTime() - first.at.getTime())
  const dot = ({ id, outcome, at }: Dated) => {
    const x = Math.round(((at.getTime() - first.at.getTime()) / span) * WIDTH)
    const [name, radius] = id === here ? ['here', 9] : [outcome ?? 'open', 6]
    return html`<circle class="${name}" cx="${x}" cy="0" r="${radius}"/>`
  }
  // The one that is shown is drawn over the others.
  const dots = [...all.filter(({ id }) => id !== here), ...all.filter(({ id }) => id === here)]
  const count = `${isAll ? '' : 'the latest '}${all.length} copies`
  return html`<h2 id="timeline">Copies of this URL</h2>
<figure class="timeline"><svg viewBox="-12 -12 ${WIDTH + 24} 24" aria-hidden="true"><path d="M0 0H${WIDTH}"/>
${dots.map(dot)}</svg>
<figcaption>${time(first.at)} <span>${count}</span> ${time(last.at)}</figcaption></figure>
`
}
