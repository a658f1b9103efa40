import type { Within } from '../../browse/inert/clean.ts'
import { NOWHERE } from '../../browse/inert/nowhere.ts'
import { plainHtml } from '../../browse/inert/plain.ts'
import { readTree } from '../../browse/inert/read-tree.ts'
import { settled } from '../../browse/inert/settled.ts'
import { type Attribute, elementsIn } from '../../browse/inert/tree.ts'

/**
 * The HTML of an article in a form that may be shown: it runs nothing and requests nothing, whatever the page has put
 * into it. `withAddresses` adds where its pictures are. Throws AppError if no tree can be made of it.
 */
export function inertArticle(content: string): string {
  const within: Within = {
    isShown: (address) => /^data:image\//i.test(address),
    isDocument: () => false,
    inertCss: new Set(),
  }
  const plain = plainHtml(content, within, aside)
  if (plain !== undefined) return plain
  const tree = readTree(`<!doctype html><body>${content}`)
  for (const { tagName, attrs } of elementsIn(tree)) aside(tagName, attrs)
  const { body } = settled(tree, within)
  return body.slice(body.indexOf('>') + 1, -'</body>'.length)
}

/** Moves the address of a picture to where nothing requests it. An existing value there would be taken for ours. */
function aside(name: string, attributes: Attribute[]): void {
  const own = attributes.findIndex((one) => one.name === 'data-src')
  if (own >= 0) attributes.splice(own, 1)
  const at = name === 'img' ? attributes.findIndex((one) => one.name === 'src') : -1
  const address = attributes[at]?.value ?? ''
  if (/^https?:/i.test(address))
    attributes.splice(at, 1, { name: 'src', value: NOWHERE }, { name: 'data-src', value: address })
}
