import { SELECTOR_OF } from './selector-of.ts'

/**
 * Before pictures and printing: where the page itself does not scroll, but a box that fills most of the window does,
 * the box and all that it is in become as tall as its content. By style sheets beside the document's own.
 */
export const UNROLL = `(() => {
  const MOST_ELEMENTS = 20_000
  const root = document.scrollingElement
  if (!root || root.scrollHeight > innerHeight * 1.2) return
  const selectorOf = ${SELECTOR_OF}
  const isMain = (box) =>
    box.scrollHeight > box.clientHeight + 20 &&
    box.clientHeight > innerHeight / 2 && box.clientWidth > innerWidth / 3 &&
    /auto|scroll/.test(getComputedStyle(box).overflowY)
  const inside = (node) => [...node.querySelectorAll('*')].slice(0, MOST_ELEMENTS)
    .flatMap((element) => (element.shadowRoot ? [element, ...inside(element.shadowRoot)] : [element]))
  const area = (box) => box.clientWidth * box.clientHeight
  const [main] = inside(document).filter(isMain).sort((one, other) => area(other) - area(one))
  if (!main) return
  const TALL = 'height: auto; min-height: max-content; max-height: none; bottom: auto; overflow: visible; contain: none'
  const tall = TALL.replaceAll(';', ' !important;') + ' !important'
  for (let box = main; box; box = box.assignedSlot ?? box.parentElement ?? box.getRootNode().host) {
    const sheet = new CSSStyleSheet()
    const isFixed = getComputedStyle(box).position === 'fixed'
    const place = isFixed ? '; position: absolute !important' : ''
    sheet.replaceSync(':is(#_#_#_, ' + selectorOf(box) + ') { ' + tall + place + ' }')
    const tree = box.getRootNode()
    tree.adoptedStyleSheets = [...tree.adoptedStyleSheets, sheet]
  }
})()`
