import type { Within } from '../base/inert/clean.ts'
import { NOWHERE } from '../base/inert/nowhere.ts'
import { readTree } from '../base/inert/read-tree.ts'
import { settled } from '../base/inert/settled.ts'
import { attribute, elementsIn, setAttribute } from '../base/inert/tree.ts'

/**
 * The HTML of an article as it may be shown: it runs nothing and asks nobody, whatever the page has put into it. Where
 * its pictures lie, `withAddresses` says. Throws AppError for what no tree is made of.
 */
export function inertArticle(content: string): string {
  const tree = readTree(`<!doctype html><body>${content}`)
  for (const element of elementsIn(tree)) {
    setAttribute(element, 'data-src', undefined) // It would be taken for ours.
    const address = element.tagName === 'img' ? (attribute(element, 'src') ?? '') : ''
    if (!/^https?:/i.test(address)) continue
    const at = element.attrs.findIndex(({ name }) => name === 'src')
    element.attrs.splice(at, 1, { name: 'src', value: NOWHERE }, { name: 'data-src', value: address })
  }
  const within: Within = {
    isShown: (address) => /^data:image\//i.test(address),
    isDocument: () => false,
    inertCss: new Set(),
  }
  const { body } = settled(tree, within)
  return body.slice(body.indexOf('>') + 1, -'</body>'.length)
}
