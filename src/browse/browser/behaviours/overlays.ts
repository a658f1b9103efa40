import { SELECTOR_OF } from './selector-of.ts'

/**
 * Hides what covers a page: consent banners, by the selectors of a list and by their looks and words; dialogs; the veil
 * behind them; and the lock on scrolling that comes with them. By style sheets beside the document's own, so that the
 * document stays as it was. Nothing is clicked. Evaluates to selectors of what was hidden.
 *
 * A banner is fixed to the window, has a button, and speaks of cookies or consent, not only in links: a list of
 * functions may have `cookie()`. What holds the greater part of a page's text, an article, or all that there is, is
 * no overlay, whatever it is called. Each call judges anew: what filled meanwhile is seen again.
 */
export const HIDE_OVERLAYS = (listed: readonly string[]) => `(() => {
  const LISTED = ${JSON.stringify(listed)}
  const ABOUT = /cookie|consent|gdpr|dsgvo|rgpd|ccpa|privacy (?:settings|preferences|choices)|einwilligung|datenschutz/i
  const HUGE = 20_000
  const hidden = (globalThis.hiddenOverlays ??= new Map())
  const earlier = new Set(hidden.values())
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !earlier.has(sheet))
  hidden.clear()
  const textOf = (element) => (element.shadowRoot?.textContent ?? '') + (element.innerText ?? '')
  const all = document.body?.innerText.length ?? 0
  const isMost = (element) => textOf(element).length > all / 2
  const PICTURES = 'img, picture, canvas, video, svg, iframe, object, embed'
  const hasOther = (element) =>
    all - textOf(element).length > 2 ||
    [...document.querySelectorAll(PICTURES)].some((picture) => !element.contains(picture) && picture.checkVisibility())
  const isKept = (element) =>
    /^(html|head|body|main|article|style|script)$/.test(element.localName) ||
    !!element.querySelector('main, article, [role=main], [role=article]') ||
    (isMost(element) && (all > 200 || !hasOther(element)))

  const found = new Set()
  for (const selector of LISTED)
    try {
      for (const element of document.querySelectorAll(selector)) if (!isKept(element)) found.add(element)
    } catch {} // A selector that this browser does not know.

  const isFixed = (element) => getComputedStyle(element).position === 'fixed' || element.matches('dialog:modal')
  const layers = new Set()
  const elements = [...document.querySelectorAll('body *')]
  const points = [0.03, 0.25, 0.5, 0.75, 0.97].flatMap((x) =>
    [0.01, 0.04, 0.1, 0.25, 0.5, 0.75, 0.9, 0.96, 0.99].map((y) => [x * innerWidth, y * innerHeight]))
  const isOver = (element) => {
    if (!isFixed(element) || !element.checkVisibility({ visibilityProperty: true })) return false
    const { left, right, top, bottom } = element.getBoundingClientRect()
    return points.some(([x, y]) => x >= left && x < right && y >= top && y < bottom)
  }
  // A look at a line of ten thousands of elements takes the browser ten seconds.
  if (elements.length >= HUGE) {
    for (const element of elements)
      if (isOver(element) || [...(element.shadowRoot?.querySelectorAll('*') ?? [])].some(isOver)) layers.add(element)
  } else
    for (const [x, y] of points)
      for (const element of document.elementsFromPoint(x, y)) {
        let layer = isFixed(element) ? element : undefined
        for (const shown of element.shadowRoot?.elementsFromPoint(x, y) ?? [])
          if (element.shadowRoot.contains(shown) && isFixed(shown)) layer = element
        if (layer) layers.add(layer)
      }
  const isBanner = (layer) => {
    const button = 'button, [role=button], input[type=button], input[type=submit], a'
    const isFrame = [...layer.querySelectorAll('iframe')].some(({ src, title, id, name }) =>
      /cookie|consent|gdpr|privacy|[^a-z]cmp[^a-z]/i.test([src, title, id, name].join(' ')))
    const inside = layer.shadowRoot ?? layer
    const links = [...inside.querySelectorAll('a[href]')].map((link) => link.textContent)
    const prose = links.reduce((text, link) => text.replace(link, ''), inside.textContent)
    return isFrame || (ABOUT.test(prose) && !!inside.querySelector(button))
  }
  const isDialog = (layer) =>
    layer.matches('dialog, [role=dialog], [role=alertdialog], [aria-modal=true]') ||
    !!layer.querySelector('[aria-modal=true], [role=dialog], [role=alertdialog]')
  for (const layer of layers)
    if (!isKept(layer) && (isBanner(layer) || (isDialog(layer) && !isMost(layer)))) found.add(layer)
  const isVeil = (layer) => {
    const { width, height } = layer.getBoundingClientRect()
    const { backgroundColor: colour, backdropFilter: blur } = getComputedStyle(layer)
    const isDim = /rgba\\(.*, 0?\\.\\d+\\)|\\/ 0?\\.\\d+\\)/.test(colour) || (blur ?? 'none') !== 'none'
    const isBare = textOf(layer).trim() === '' && !layer.matches(PICTURES) && !layer.querySelector(PICTURES)
    return isDim && width * height > innerWidth * innerHeight * 0.8 && isBare
  }
  for (const layer of layers) if (isVeil(layer)) found.add(layer)

  const selectorOf = ${SELECTOR_OF}
  const hide = (selector, style) => {
    if (hidden.has(selector)) return
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(':is(#_#_#_, ' + selector + ') { ' + style + ' }')
    hidden.set(selector, sheet)
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
  }
  for (const element of found) if (element.isConnected) hide(selectorOf(element), 'display: none !important')
  const selectors = [...hidden.keys()].filter((selector) => selector !== ':root' && selector !== 'body')
  if (selectors.length > 0)
    for (const [selector, element] of [[':root', document.documentElement], ['body', document.body]]) {
      const { overflowY, position } = getComputedStyle(element)
      if (overflowY === 'hidden' || position === 'fixed')
        hide(selector, 'overflow: visible !important; position: static !important; height: auto !important')
    }
  return selectors
})()`
