import { href as toHref } from '../links.ts'
import { dayOf, minuteOf } from '../page-row.ts'
import { arrivals, type Copy } from './arrivals.ts'
import { fill, isPacked } from './copy.ts'
import { find, isTypedInto, keepHash, make, need } from './dom.ts'

type Link = HTMLAnchorElement

const shownBy = (link: Link) => link.dataset['shown'] ?? ''
const hrefOf = (link: Link) => link.getAttribute('href') ?? ''
const PDF = 'pdf'
/** A file of no kind that a page can show: it opens like any other. */
const FILE = 'file'

/** One page: its copies, one of them large, and other copies of the same URL. */
export function startSnapshot(): void {
  showCopies()
  const main = find('#copy')
  if (!main) return
  const links = [...document.querySelectorAll<Link>('.strip a[data-shown]')].filter((link) => shownBy(link) !== FILE)
  const choose = (link: Link) => {
    show(link, links, main)
    keepHash(hrefOf(link))
  }
  addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest<Link>('a[data-shown]') : null
    if (!link || shownBy(link) === FILE || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    choose(link)
    if (!links.includes(link)) main.scrollIntoView()
  })
  addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0
    const isOurs = step !== 0 && !event.altKey && !event.ctrlKey && !event.metaKey
    if (!isOurs || isTypedInto(event, /^(INPUT|SELECT|VIDEO|AUDIO)$/)) return
    const at = links.findIndex((link) => link.hasAttribute('aria-current'))
    const next = links[(at + step + links.length) % links.length]
    if (!next) return
    event.preventDefault()
    choose(next)
    if (document.activeElement?.matches('.strip a')) next.focus()
  })
  showFirst(links, main)
  for (const frame of document.querySelectorAll<HTMLIFrameElement>('iframe[data-copy]'))
    fill(frame, frame.dataset['copy'] ?? '')
}

/** The copy that is asked for, or the best; where a browser has no viewer for a PDF (a phone's), what comes after. */
function showFirst(links: readonly Link[], main: HTMLElement): void {
  const asked = links.find((link) => `#${hrefOf(link)}` === location.hash)
  const canShow = (link: Link) => shownBy(link) !== PDF || navigator.pdfViewerEnabled
  const best = links.find((link) => link.hasAttribute('aria-current'))
  const current = asked ?? (best && canShow(best) ? best : (links.find(canShow) ?? best))
  if (!current) return
  if (current !== best || shownBy(current) !== 'html' || isPacked(hrefOf(current))) show(current, links, main)
}

/** Shows a copy large. */
function show(link: Link, links: readonly Link[], main: HTMLElement): void {
  const shown = shownBy(link)
  const isReading = shown === 'text' || shown === 'source' || link.classList.contains('text')
  main.className = `copy ${shown}${isReading ? ' reading' : ''}`
  main.replaceChildren(large(shown, hrefOf(link), link.dataset['name'] ?? ''))
  for (const other of links) other.removeAttribute('aria-current')
  link.setAttribute('aria-current', 'true')
  link.scrollIntoView({ block: 'nearest', inline: 'nearest' })
}

function large(shown: string, src: string, name: string): HTMLElement {
  if (shown === 'image') return make('img', { src, alt: `${name} of the page` })
  if (shown === 'video' || shown === 'audio') return make(shown, { src, controls: true })
  const frame = document.createElement('iframe')
  frame.name = 'copy'
  frame.title = `The copy: ${name}`
  frame.referrerPolicy = 'no-referrer'
  if (shown !== PDF) frame.setAttribute('sandbox', 'allow-same-origin')
  fill(frame, src)
  return frame
}

/** Other copies of the same URL: the one before, the next, and all of them. */
function showCopies(): void {
  const all = arrivals.copies.toSorted(([a], [b]) => (a < b ? -1 : 1))
  if (all.length < 2) return
  const top = hrefOf(need('.crumbs a')).replace(/\/index\.html$/, '')
  const days = Map.groupBy(all, ([at]) => at.slice(0, 10))
  const chip = ([at, outcome, path, node]: Copy) => {
    // By its id alone: the address may have been typed in any code.
    const isHere = location.pathname.includes(path.slice(path.lastIndexOf('/')))
    const isAmongSeveral = (days.get(at.slice(0, 10)) ?? []).length > 1
    const text = isAmongSeveral ? minuteOf(new Date(at)) : dayOf(new Date(at))
    if (node !== undefined && !isHere) return make('span', { class: outcome, title: `on node ${node}` }, text)
    const href = `${top}/${toHref(path)}/index.html`
    const where = isHere ? { 'aria-current': 'true' } : { href }
    return make(isHere ? 'b' : 'a', { class: outcome, ...where, title: outcome }, text)
  }
  const nav = need('#copies')
  nav.replaceChildren(...all.map(chip))
  find('#copies b')?.scrollIntoView({ block: 'nearest', inline: 'center' })
}

/** Pictures whose files are gone; of frames nobody is told. */
export function watchPictures(): void {
  addEventListener(
    'error',
    ({ target }) => {
      if (!(target instanceof HTMLImageElement)) return
      const gone = `${target.getAttribute('src')} is not here any more.`
      if (target.closest('#copy')) target.replaceWith(make('p', { class: 'nothing' }, gone))
      else if (target.closest('.bar')) target.remove()
      else if (target.closest('.card')) target.replaceWith('gone')
    },
    true,
  )
}
