import type { Scripts } from './scripts.ts'
import { restyle, selectorOf } from './selector-of.ts'

const MOST_ELEMENTS = 20_000

/** Fixed elements would be printed on every sheet, over the text. */
const unpin: Scripts['unpin'] = () => {
  const all = [...document.querySelectorAll('body *')].slice(0, MOST_ELEMENTS)
  const pinned = all.filter((element) => getComputedStyle(element).position === 'fixed').map(selectorOf)
  if (pinned.length > 0) restyle(document, pinned.join(), 'position: absolute !important', 'print')
}
export default unpin
