import type { Scripts } from './scripts.ts'
import { reader, shadowOf } from './world.ts'

const serialize: Scripts['serialize'] = () => {
  const root = reader(Document, 'documentElement')(document)
  const doctype = reader(Document, 'doctype')(document)
  const shadowRoots: ShadowRoot[] = []
  const collect = (elements: Iterable<Element>) => {
    for (const element of elements) {
      const inner = shadowOf(element)
      if (!inner) continue
      shadowRoots.push(inner)
      collect(inner.querySelectorAll('*'))
    }
  }
  collect(Document.prototype.querySelectorAll.call(document, '*'))
  const start = (root.cloneNode(false) as Element).outerHTML.replace(/<\/[^<]*$/, '')
  const inside = 'getHTML' in root ? root.getHTML({ shadowRoots }) : (root as Element).innerHTML
  return `${doctype ? `${new XMLSerializer().serializeToString(doctype)}\n` : ''}${start}${inside}</html>\n`
}
export default serialize
