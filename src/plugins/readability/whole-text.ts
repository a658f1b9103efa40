import { type DomElement, makeInert, wholeDocument } from './dom.ts'
import { BESIDE } from './survey.ts'

/** Removed from a page that is otherwise kept as a whole. */
const OUT = [
  ...BESIDE,
  ...'iframe object embed link meta base form>input textarea dialog'.split(' '),
  ...['[hidden]', '[aria-hidden=true]', '[role=navigation]', '[role=banner]', '[role=contentinfo]', '[role=search]'],
].join(',')
/** Presentation is not text. */
const LOOKS = ['class', 'style', 'align', 'bgcolor', 'color', 'width', 'height', 'border']
const ADDRESSES = ['href', 'src', 'poster', 'cite']

/** All text of a page: its marked main part, else its body, without navigation and the like. */
export function wholeText(html: string, url: string): DomElement {
  const { document, base } = wholeDocument(html, url)
  const root = mainPart(document) ?? document.body
  for (const element of [...root.querySelectorAll(OUT)]) {
    const isTitle = element.tagName === 'HEADER' && element.closest('main,article') !== null
    if (!isTitle) element.remove()
  }
  for (const element of root.querySelectorAll('*')) {
    for (const name of LOOKS) element.removeAttribute(name)
    for (const name of ADDRESSES) {
      const value = element.getAttribute(name)
      const absolute = value === null || value.startsWith('#') ? null : URL.parse(value, base)?.href
      if (absolute) element.setAttribute(name, absolute)
    }
    element.removeAttribute('srcset')
  }
  makeInert(root)
  return root
}

function mainPart(document: DomElement): DomElement | undefined {
  const [main] = document.querySelectorAll('main,[role=main]')
  const articles = [...document.querySelectorAll('article')]
  return main ?? (articles.length === 1 ? articles[0] : undefined)
}
