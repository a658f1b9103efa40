import { SELECTOR_OF } from './selector-of.ts'

/** Before printing: what is fixed to the window would be printed on every sheet, over the text. It is on the first. */
export const UNPIN = `(() => {
  const MOST_ELEMENTS = 20_000
  const selectorOf = ${SELECTOR_OF}
  const all = [...document.querySelectorAll('body *')].slice(0, MOST_ELEMENTS)
  const pinned = all.filter((element) => getComputedStyle(element).position === 'fixed').map(selectorOf)
  if (pinned.length === 0) return
  const sheet = new CSSStyleSheet()
  sheet.replaceSync('@media print { :is(#_#_#_, ' + pinned.join() + ') { position: absolute !important } }')
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
})()`
