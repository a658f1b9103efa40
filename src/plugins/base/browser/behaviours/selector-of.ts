/** A function of the page: a selector of this element and no other. */
export const SELECTOR_OF = `function selectorOf(element) {
  const isOne = (selector) => document.querySelectorAll(selector).length === 1
  if (element.id && isOne('#' + CSS.escape(element.id))) return '#' + CSS.escape(element.id)
  const own = element.localName + Array.from(element.classList, (name) => '.' + CSS.escape(name)).join('')
  const { parentElement: parent } = element
  if (!parent || isOne(own)) return own
  return selectorOf(parent) + ' > ' + own + ':nth-child(' + ([...parent.children].indexOf(element) + 1) + ')'
}`
