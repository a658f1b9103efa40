import { parsed } from './light-dom.ts'

/** The few parts of the DOM that are used here. */
export interface DomNode {
  readonly nodeType: number
  readonly childNodes: Iterable<DomNode>
  readonly textContent: string | null
  readonly parentNode: DomElement | null
  append(...nodes: DomNode[]): void
  prepend(...nodes: DomNode[]): void
  remove(): void
}
export interface DomElement extends DomNode {
  readonly tagName: string
  readonly attributes: Iterable<{ readonly name: string; readonly value: string }>
  innerHTML: string
  closest(selector: string): DomElement | null
  querySelector(selector: string): DomElement | null
  querySelectorAll(selector: string): Iterable<DomElement>
  getAttribute(name: string): string | null
  setAttribute(name: string, value: string): void
  removeAttribute(name: string): void
}
interface DomDocument extends DomElement {
  readonly documentElement: DomElement | null
  readonly head: DomElement
  readonly body: DomElement
  createElement(name: string): DomElement
}

/** A document with html, head and body, even where the page omits them, and with one `<base>` for its location. */
export function wholeDocument(html: string, url: string): { document: DomDocument; base: string } {
  const parse = (source: string) => parsed(source).document as DomDocument
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
  if (html.includes('<pre')) keepLanguages(document)
  return { document, base: href }
}

/** The language of a code block, as highlighters write it into classes, which an article loses. */
const LANGUAGE = /(?:^|\s)(?:language-|lang-|highlight-source-|brush:\s?)([\w+#-]+)/

/** Notes the languages of code blocks where they are kept: in `data-language`. */
function keepLanguages(document: DomDocument): void {
  for (const pre of document.querySelectorAll('pre')) {
    const places = [...pre.querySelectorAll('code'), pre, pre.parentNode]
    const named = places.flatMap((place) => LANGUAGE.exec(place?.getAttribute('class') ?? '')?.[1] ?? [])
    if (named[0] !== undefined) pre.setAttribute('data-language', named[0])
  }
}

/** Removes what would act even without a script. */
export function makeInert(root: DomElement): void {
  for (const element of root.querySelectorAll('*')) {
    for (const { name, value } of [...element.attributes]) {
      if (/^on|^srcdoc$|^formaction$/i.test(name) || /^[\s\p{Cc}]*(?:javascript|vbscript):/iu.test(value))
        element.removeAttribute(name)
    }
  }
}

const TEXT = 3
const ELEMENT = 1
const BLOCKS = new Set(
  `ADDRESS ARTICLE ASIDE BLOCKQUOTE BR CAPTION DD DETAILS DIV DL DT FIGCAPTION FIGURE FOOTER FORM H1 H2 H3 H4 H5 H6
  HEADER HR LI MAIN NAV OL P PRE SECTION SUMMARY TABLE TR UL`.split(/\s+/),
)
const CELLS = new Set(['TD', 'TH'])

/** The visible text of a tree: blocks on separate lines, cells apart, white space kept only in `pre`. */
export function readableText(root: DomElement): string {
  const parts: string[] = []
  const walk = (node: DomNode, isPre: boolean) => {
    if (node.nodeType === TEXT) {
      const text = node.textContent ?? ''
      const isLineStart = parts.length === 0 || parts.at(-1)!.endsWith('\n')
      const flowing = isPre ? text : text.replace(/\s+/g, ' ')
      parts.push(isLineStart && !isPre ? flowing.trimStart() : flowing)
      return
    }
    if (node.nodeType !== ELEMENT) return
    const { tagName } = node as DomElement
    const around = BLOCKS.has(tagName) ? '\n' : CELLS.has(tagName) ? '\t' : ''
    if (around) parts.push(around)
    for (const child of node.childNodes) walk(child, isPre || tagName === 'PRE')
    if (around) parts.push(around)
  }
  walk(root, false)
  return parts
    .join('')
    .replace(/(?<![ \t])[ \t]+\n/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/\t{2,}/g, '\t')
    .trim()
}
