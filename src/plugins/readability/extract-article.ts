import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'

/** The few parts of the DOM that are used here. */
interface DomNode {
  readonly childNodes: Iterable<DomNode>
  append(...nodes: DomNode[]): void
  prepend(...nodes: DomNode[]): void
  remove(): void
}
interface DomElement extends DomNode {
  readonly tagName: string
  readonly attributes: Iterable<{ readonly name: string; readonly value: string }>
  innerHTML: string
  setAttribute(name: string, value: string): void
  removeAttribute(name: string): void
  querySelectorAll(selector: string): Iterable<DomElement>
}
interface DomDocument extends DomElement {
  readonly documentElement: DomElement | null
  readonly head: DomElement
  readonly body: DomElement
  createElement(name: string): DomElement
}

export interface Article {
  readonly title: string
  readonly byline: string | null
  readonly excerpt: string | null
  readonly siteName: string | null
  readonly lang: string | null
  readonly dir: string | null
  readonly publishedTime: string | null
  /** Characters of `textContent`. */
  readonly length: number
  /** Inert HTML: no scripts, no event handlers; links and pictures are absolute. */
  readonly content: string
  readonly textContent: string
}

/** The article in a page at `url`; undefined when there is none. Time grows with the size and the nesting of the page: check them before. */
export function extractArticle(html: string, url: string): Article | undefined {
  const found = new Readability<DomElement>(wholeDocument(html, url) as never, {
    serializer: (node) => node as unknown as DomElement,
  }).parse()
  const text = found?.textContent ?? ''
  if (!found?.content || text.trim() === '') return undefined
  makeInert(found.content)
  return {
    title: found.title ?? '',
    byline: found.byline ?? null,
    excerpt: found.excerpt ?? null,
    siteName: found.siteName ?? null,
    lang: found.lang ?? null,
    dir: found.dir ?? null,
    publishedTime: found.publishedTime ?? null,
    length: text.length,
    content: found.content.innerHTML,
    textContent: text,
  }
}

/** A document with html, head and body, wherever the page left them out, and with one `<base>` that says where it lies. */
function wholeDocument(html: string, url: string): DomDocument {
  const parse = (source: string) => (parseHTML(source) as unknown as { document: DomDocument }).document
  let document = parse(html)
  if (document.documentElement?.tagName !== 'HTML') document = parse(`<html><head></head><body>${html}</body></html>`)
  const { documentElement: root, head, body } = document
  for (const node of [...root!.childNodes]) if (node !== head && node !== body) body.append(node)

  let href = url
  for (const base of [...document.querySelectorAll('base')]) {
    for (const { name, value } of base.attributes) if (name === 'href') href = URL.parse(value, url)?.href ?? href
    base.remove()
  }
  const base = document.createElement('base')
  base.setAttribute('href', href)
  head.prepend(base)
  return document
}

/** Readability takes scripts out, but not what runs without one. */
function makeInert(root: DomElement): void {
  for (const element of root.querySelectorAll('*')) {
    for (const { name, value } of [...element.attributes]) {
      if (/^on|^srcdoc$|^formaction$/i.test(name) || /^[\s\p{Cc}]*(?:javascript|vbscript):/iu.test(value))
        element.removeAttribute(name)
    }
  }
}
