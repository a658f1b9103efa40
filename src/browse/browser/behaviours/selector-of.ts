/** A function of the page: a selector of this element and no other of its document or shadow root. */
export const SELECTOR_OF = `function selectorOf(element) {
  const tree = element.getRootNode()
  const isOne = (selector) => tree.querySelectorAll(selector).length === 1
  if (element.id && isOne('#' + CSS.escape(element.id))) return '#' + CSS.escape(element.id)
  const own = CSS.escape(element.localName) + Array.from(element.classList, (name) => '.' + CSS.escape(name)).join('')
  const { parentElement: parent } = element
  if (isOne(own)) return own
  const place = ':nth-child(' + ([...(parent ?? tree).children].indexOf(element) + 1) + ')'
  return parent ? selectorOf(parent) + ' > ' + own + place : own + place
}`
