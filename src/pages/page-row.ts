import { isVisible, sizeText } from '../base/words.ts'
import type { LineHead, LineRest } from './index-line.ts'
import type { ListLinks } from './links.ts'
import { type Element, element, type Markup } from './markup.ts'

// A page in a list: a row, or a card of the grid.

/** A page as shown in a list. */
export interface ShownPage extends Pick<LineHead, 'seconds' | 'outcome' | 'tags'>, LineRest {
  /** Where its page and its files are, by its `path`. */
  readonly links: Pick<ListLinks, 'snapshot' | 'fileOf'>
  /** A word for its state, while it has no outcome. */
  readonly state?: string
  /** It has a page wherever its files are: a server makes that. */
  readonly isServed?: true
  /** Words to highlight, in lower case. */
  readonly terms: readonly string[]
}

const THUMBNAIL = /\/thumbnail\.\w+$/
/** How many tags fit. */
const MOST_TAGS = 4

export const hostOf = (url: string): string => /^[a-z0-9+.-]+:\/\/(?:[^/?#@]*@)?([^/?#]+)/i.exec(url)?.[1] ?? ''

const two = (number: number) => String(number).padStart(2, '0')
/** Day and minute in the reader's time zone. */
export const dayOf = (date: Date): string => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
export const minuteOf = (date: Date): string => `${dayOf(date)} ${two(date.getHours())}:${two(date.getMinutes())}`

const own = (...children: readonly Markup[]) => element('bdi', {}, ...children)

export function pageRow(page: ShownPage): Element {
  const { terms, seconds, outcome, state, tags, status, cause, size, url, title, text, node } = page
  const when = new Date(seconds * 1000)
  const href = hrefOf(page)
  const answer = status !== '' && status !== '200' && cause !== `HTTP ${status}` ? `HTTP ${status}` : ''
  const told = [size > 0 ? sizeText(size) : '', answer].filter(Boolean).join(' · ')
  const note = outcome === 'archived' || cause === '' ? undefined : element('bdi', { class: 'why' }, cause)
  const hasTitle = isVisible(title)
  return element(
    'li',
    { class: outcome },
    tile(page),
    element(
      'div',
      { class: 'main' },
      element('p', { class: 'title' }, element('a', { href }, own(...marked(hasTitle ? title : url, terms)))),
      // It already stands in place of a title.
      hasTitle ? element('p', { class: 'url' }, own(...marked(url, terms))) : undefined,
      element('p', { class: 'text' }, note ?? own(...marked(around(text, terms), terms))),
    ),
    element(
      'div',
      { class: 'facts' },
      badge(outcome, cause, state),
      element('time', { datetime: when.toISOString(), title: minuteOf(when) }, dayOf(when)),
      element('span', {}, told, told !== '' && node !== '' ? ' · ' : '', ...place(page)),
    ),
    element(
      'p',
      { class: 'tags' },
      ...tags.slice(0, MOST_TAGS).map((tag) => element('span', { class: 'chip' }, own(tag))),
    ),
  )
}

export function pageCard(page: ShownPage): Element {
  const { links, outcome, state, path, picture, url, title, text, cause, node } = page
  const href = hrefOf(page)
  const words = node === '' ? [own(text === '' ? cause || hostOf(url) : text)] : place(page)
  const seen =
    picture === ''
      ? element('span', { class: 'page' }, ...words)
      : element('img', { src: links.fileOf(path, picture), alt: '', loading: 'lazy' })
  // Its host is shown below.
  const name = isVisible(title) ? title : url.replace(/^\w+:\/\/[^/]*(?=\/.)/, '')
  return element(
    'li',
    { class: outcome },
    element(
      'a',
      { href },
      seen,
      element('span', { class: 'caption' }, icon(page), own(name)),
      element('span', { class: 'place' }, own(hostOf(url)), badge(outcome, cause, state)),
    ),
  )
}

/** Its page; undefined: that is on the disk of another node. */
const hrefOf = ({ links, path, node, isServed }: ShownPage): string | undefined =>
  node === '' || isServed ? links.snapshot(path) : undefined

/** Where its files are, if not here. */
const place = ({ node }: ShownPage): Element[] =>
  node === '' ? [] : [element('span', { class: 'node', title: `on node ${node}` }, 'on node ', own(node))]

/** How the page looked; its icon if there is no small picture: a few dozen full ones would take gigabytes. */
function tile(page: ShownPage): Element {
  const { links, path, picture } = page
  if (!THUMBNAIL.test(picture)) return element('span', { class: 'tile' }, icon(page))
  const image = element('img', { src: links.fileOf(path, picture), alt: '' })
  return element('span', { class: 'tile' }, { ...image, otherwise: icon(page) })
}

function icon({ links, path, icon: file, url }: ShownPage): Element {
  const letter = (hostOf(url).replace(/^www\./, '')[0] ?? '?').toUpperCase()
  const sign = element('span', { class: 'icon', 'aria-hidden': 'true' }, letter)
  if (file === '') return sign
  const src = links.fileOf(path, file)
  return { ...element('img', { class: 'icon', src, alt: '', loading: 'lazy' }), otherwise: sign }
}

function badge(outcome: string, cause: string, state = ''): Element {
  if (outcome === '' && state !== '') return element('span', { class: 'status started' }, state)
  const word = outcome.charAt(0).toUpperCase() + outcome.slice(1)
  return element('span', { class: `badge ${outcome}`, title: cause || undefined }, word)
}

/** The text, with the search words highlighted. */
function marked(text: string, words: readonly string[]): Markup[] {
  const parts: Markup[] = []
  const lower = text.toLowerCase()
  const terms = lower.length === text.length ? words : []
  let at = 0
  while (at < text.length) {
    let next = -1
    let term = ''
    for (const one of terms) {
      const place = lower.indexOf(one, at)
      if (place !== -1 && (next === -1 || place < next)) [next, term] = [place, one]
    }
    if (next === -1) break
    parts.push(text.slice(at, next), element('mark', {}, text.slice(next, next + term.length)))
    at = next + term.length
  }
  return [...parts, text.slice(at)]
}

/** The part of a text around the first of the words, or its beginning. */
function around(text: string, terms: readonly string[]): string {
  for (const term of terms) {
    const at = text.toLowerCase().indexOf(term)
    if (at > 60) return `… ${text.slice(at - 40)}`
  }
  return text
}
