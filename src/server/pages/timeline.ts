import { number } from '../../base/words.ts'
import type { PageCopy } from '../../db/archived-pages.ts'
import { type Html, html } from '../../pages/html.ts'
import { time } from '../../pages/layout.ts'

/** How many copies are named, around the one that is shown. */
const NAMED = 60

/** A copy on the timeline. */
interface Dated extends Pick<PageCopy, 'id' | 'outcome'> {
  readonly at: Date
}

/**
 * The copies of a URL in order of time, including the one that is shown.
 * @param here the one that is shown, which may be unfinished
 */
export function inTime(copies: readonly PageCopy[], here: Dated): Dated[] {
  const others = copies.filter(({ id }) => id !== here.id).map(({ sealed_at: at, ...copy }) => ({ ...copy, at }))
  return [...others, here].sort((a, b) => a.at.getTime() - b.at.getTime())
}

/** The copy that is shown, with links to those before and after it. @param all in order of time */
export function datesNav(all: readonly Dated[], here: string): Html {
  const place = all.findIndex(({ id }) => id === here)
  const step = (copy: Dated | undefined, name: string, sign: string, rel: string) =>
    copy &&
    html`<a class="${copy.outcome}" href="/snapshots/${copy.id}" rel="${rel}" aria-label="${name}" title="${name}">
${sign}</a>`
  const shown = all[place]
  return html`<nav class="dates" id="copies" data-live aria-label="Copies of this page">
${step(all[place - 1], 'Previous copy', '‹', 'prev')}${shown && html`<b>${time(shown.at)}</b>`}
${step(all[place + 1], 'Next copy', '›', 'next')}${
  all.length > 1 ? html`<a href="#timeline">${number(all.length)} copies</a>` : ''
}</nav>`
}

/** All of them, on a line by their distance in time, and as links. Nothing for a single copy. */
export function timeline(all: readonly Dated[], here: string, isAll: boolean): Html {
  const [first, last] = [all[0], all.at(-1)]
  if (all.length < 2 || !first || !last) return html``
  const span = Math.max(1, last.at.getTime() - first.at.getTime())
  const dot = ({ id, outcome, at }: Dated) => {
    const x = ((100 * (at.getTime() - first.at.getTime())) / span).toFixed(1)
    const [name, radius] = id === here ? ['here', 8] : [outcome ?? 'open', 5]
    return html`<circle class="${name}" cx="${x}%" cy="50%" r="${radius}"/>`
  }
  // The one that is shown is drawn over the others.
  const dots = [...all.filter(({ id }) => id !== here), ...all.filter(({ id }) => id === here)]
  const count = `${isAll ? '' : 'the latest '}${number(all.length)} copies`
  const from = Math.max(0, Math.min(all.findIndex(({ id }) => id === here) - NAMED / 2, all.length - NAMED))
  const link = ({ id, outcome, at }: Dated) =>
    id === here
      ? html`<li><b aria-current="true">${time(at)}</b></li>\n`
      : html`<li><a class="${outcome}" href="/snapshots/${id}" title="${outcome}">${time(at)}</a></li>\n`
  return html`<h2 id="timeline">Copies of this URL</h2>
<figure class="timeline"><svg aria-hidden="true"><line x2="100%" y1="50%" y2="50%"/>
${dots.map(dot)}</svg>
<figcaption>${time(first.at)} <span>${count}</span> ${time(last.at)}</figcaption></figure>
<ol class="times">${all.slice(from, from + NAMED).map(link)}</ol>
`
}
