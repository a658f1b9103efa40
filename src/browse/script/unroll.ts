import type { Scripts } from './scripts.ts'
import { restyle, selectorOf } from './selector-of.ts'

const MOST_ELEMENTS = 20_000
const TALL = ['height: auto', 'min-height: max-content', 'max-height: none', 'bottom: auto', 'overflow: visible']

/**
 * If a box that fills most of the window scrolls instead of the page, makes the box and everything around it as tall as
 * its content.
 */
const unroll: Scripts['unroll'] = () => {
  const root = document.scrollingElement
  if (!root || root.scrollHeight > innerHeight * 1.2) return
  const area = (box: Element) => box.clientWidth * box.clientHeight
  const [main] = inside(document)
    .filter(isMain)
    .sort((one, other) => area(other) - area(one))
  for (let box = main; box; box = around(box)) {
    const place = getComputedStyle(box).position === 'fixed' ? ['position: absolute'] : []
    const style = [...TALL, 'contain: none', ...place].map((declaration) => `${declaration} !important`)
    restyle(box.getRootNode() as Document | ShadowRoot, selectorOf(box), style.join('; '))
  }
}
export default unroll

const isMain = (box: Element) =>
  box.scrollHeight > box.clientHeight + 20 &&
  box.clientHeight > innerHeight / 2 &&
  box.clientWidth > innerWidth / 3 &&
  /auto|scroll/.test(getComputedStyle(box).overflowY)

const inside = (node: ParentNode): Element[] =>
  [...node.querySelectorAll('*')]
    .slice(0, MOST_ELEMENTS)
    .flatMap((element) => (element.shadowRoot ? [element, ...inside(element.shadowRoot)] : [element]))

/** The element that contains this one when shown. */
const around = (box: Element): Element | undefined =>
  box.assignedSlot ?? box.parentElement ?? (box.getRootNode() as Partial<ShadowRoot>).host
