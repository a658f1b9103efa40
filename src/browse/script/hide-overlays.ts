import type { Scripts } from './scripts.ts'
import { restyle, selectorOf } from './selector-of.ts'
import { shownText } from './shown-text.ts'

const ABOUT = /cookie|consent|gdpr|dsgvo|rgpd|ccpa|privacy (?:settings|preferences|choices)|einwilligung|datenschutz/i
const FRAME_ABOUT = /cookie|consent|gdpr|privacy|[^a-z]cmp[^a-z]/i
const BUTTON = 'button, [role=button], input[type=button], input[type=submit], a'
const DIALOG = '[aria-modal=true], [role=dialog], [role=alertdialog]'
const PICTURES = 'img, picture, canvas, video, svg, iframe, object, embed'
const ARTICLE = 'main, article, [role=main], [role=article]'
/** Measuring a line of ten thousands of elements takes the browser ten seconds. */
const HUGE = 20_000

/**
 * Hides everything that covers a page: consent banners, by the selectors of a list and by their looks and words;
 * dialogs; the backdrop behind them; and the lock on scrolling that comes with them. It uses style sheets beside the
 * document's own, so that the document stays as it was, and clicks nothing.
 *
 * A banner is fixed to the window, has a button, and mentions cookies or consent, not only in links: a list of
 * functions may have `cookie()`. Whatever contains most of a page's text, an article, or the whole content is no
 * overlay, whatever its name. Each call decides anew: an overlay that has become content meanwhile is shown again.
 */
const hideOverlays: Scripts['hide-overlays'] = (listed) => {
  globalThis.hiddenOverlays ??= new Map()
  const hidden = globalThis.hiddenOverlays
  const earlier = new Set(hidden.values())
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !earlier.has(sheet))
  hidden.clear()
  const all = shownText(document.body).length
  const isMost = (element: Element) => textOf(element).length > all / 2
  const hasOther = (element: Element) =>
    all - textOf(element).length > 2 ||
    [...document.querySelectorAll(PICTURES)].some((picture) => !element.contains(picture) && picture.checkVisibility())
  const isKept = (element: Element) =>
    /^(html|head|body|main|article|style|script)$/.test(element.localName) ||
    !!element.querySelector(ARTICLE) ||
    (isMost(element) && (all > 200 || !hasOther(element)))

  const found = new Set<Element>()
  for (const selector of listed)
    try {
      for (const element of document.querySelectorAll(selector)) if (!isKept(element)) found.add(element)
    } catch {} // This browser does not know the selector.
  const layers = fixedLayers()
  for (const layer of layers)
    if (!isKept(layer) && (isBanner(layer) || (isDialog(layer) && !isMost(layer)))) found.add(layer)
  for (const layer of layers) if (isVeil(layer)) found.add(layer)

  const hide = (selector: string, style: string) => {
    if (!hidden.has(selector)) hidden.set(selector, restyle(document, selector, style))
  }
  for (const element of found) if (element.isConnected) hide(selectorOf(element), 'display: none !important')
  const selectors = [...hidden.keys()].filter((selector) => selector !== ':root' && selector !== 'body')
  if (selectors.length > 0)
    for (const [selector, element] of [
      [':root', document.documentElement],
      ['body', document.body],
    ] as const) {
      const { overflowY, position } = getComputedStyle(element)
      if (overflowY === 'hidden' || position === 'fixed')
        hide(selector, 'overflow: visible !important; position: static !important; height: auto !important')
    }
  return selectors
}
export default hideOverlays

const textOf = (element: Element) => (element.shadowRoot?.textContent ?? '') + shownText(element)

const isFixed = (element: Element) => getComputedStyle(element).position === 'fixed' || element.matches('dialog:modal')

/** The elements that stay in place in front of the page when it scrolls. */
function fixedLayers(): Set<Element> {
  const layers = new Set<Element>()
  const elements = [...document.querySelectorAll('body *')]
  const points = [0.03, 0.25, 0.5, 0.75, 0.97].flatMap((x) =>
    [0.01, 0.04, 0.1, 0.25, 0.5, 0.75, 0.9, 0.96, 0.99].map((y) => [x * innerWidth, y * innerHeight] as const),
  )
  const isOver = (element: Element) => {
    if (!isFixed(element) || !element.checkVisibility({ visibilityProperty: true })) return false
    const { left, right, top, bottom } = element.getBoundingClientRect()
    return points.some(([x, y]) => x >= left && x < right && y >= top && y < bottom)
  }
  if (elements.length >= HUGE) {
    for (const element of elements)
      if (isOver(element) || [...(element.shadowRoot?.querySelectorAll('*') ?? [])].some(isOver)) layers.add(element)
    return layers
  }
  for (const [x, y] of points)
    for (const element of document.elementsFromPoint(x, y)) {
      const shown = element.shadowRoot?.elementsFromPoint(x, y) ?? []
      const isLayer = shown.some((inner) => element.shadowRoot?.contains(inner) && isFixed(inner))
      if (isLayer || isFixed(element)) layers.add(element)
    }
  return layers
}

function isBanner(layer: Element): boolean {
  const isFrame = [...layer.querySelectorAll('iframe')].some(({ src, title, id, name }) =>
    FRAME_ABOUT.test([src, title, id, name].join(' ')),
  )
  const inside = layer.shadowRoot ?? layer
  const links = Array.from(inside.querySelectorAll('a[href]'), (link) => link.textContent)
  const prose = links.reduce((text, link) => text.replace(link, ''), inside.textContent)
  return isFrame || (ABOUT.test(prose) && !!inside.querySelector(BUTTON))
}

const isDialog = (layer: Element) => layer.matches(`dialog, ${DIALOG}`) || !!layer.querySelector(DIALOG)

function isVeil(layer: Element): boolean {
  const { width, height } = layer.getBoundingClientRect()
  const { backgroundColor: colour, backdropFilter: blur } = getComputedStyle(layer)
  const isDim = /rgba\(.*, 0?\.\d+\)|\/ 0?\.\d+\)/.test(colour) || (blur ?? 'none') !== 'none'
  const isBare = textOf(layer).trim() === '' && !layer.matches(PICTURES) && !layer.querySelector(PICTURES)
  return isDim && width * height > innerWidth * innerHeight * 0.8 && isBare
}
