/** A selector that matches only this element in its document or shadow root. */
export function selectorOf(element: Element): string {
  const tree = element.getRootNode() as Document | ShadowRoot
  const isOne = (selector: string) => tree.querySelectorAll(selector).length === 1
  if (element.id && isOne(`#${CSS.escape(element.id)}`)) return `#${CSS.escape(element.id)}`
  const own = CSS.escape(element.localName) + Array.from(element.classList, (name) => `.${CSS.escape(name)}`).join('')
  const { parentElement: parent } = element
  if (isOne(own)) return own
  const place = `:nth-child(${[...(parent ?? tree).children].indexOf(element) + 1})`
  return parent ? `${selectorOf(parent)} > ${own}${place}` : own + place
}

/**
 * Adds a style to a document or shadow root, in a separate sheet, so that its own sheets stay as they were.
 * @returns the sheet
 */
export function restyle(tree: Document | ShadowRoot, selectors: string, style: string, media = ''): CSSStyleSheet {
  const sheet = new CSSStyleSheet()
  const rule = `:is(#_#_#_, ${selectors}) { ${style} }`
  sheet.replaceSync(media === '' ? rule : `@media ${media} { ${rule} }`)
  tree.adoptedStyleSheets = [...tree.adoptedStyleSheets, sheet]
  return sheet
}
