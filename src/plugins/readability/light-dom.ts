import { parseHTML } from 'linkedom'
import linkedom from 'linkedom/package.json' with { type: 'json' }

/** The parts of linkedom's classes that are made lighter. */
interface Element {
  readonly classList: { value: string }
  readonly style: object
  className: string
  getAttributeNode(name: string): { value: string } | null
}
interface Document {
  createElement(name: string, options?: object): Element
}
type Class = new (document: Document, name: string) => Element

/** A node as linkedom links it: all nodes of a tree in a row, an element's end among them. */
interface Linked {
  readonly nodeType: number
  readonly localName: string
  readonly [link: symbol]: Linked
}
type Found = new () => Linked[]
interface Parent {
  querySelectorAll(this: Linked, selectors: string): Linked[]
  getElementsByTagName(this: Linked, name: string): Linked[]
}

/**
 * Elements whose text is written in a special way, that have their own tree, or of which Readability reads attributes
 * that other elements lack: the `src` and `srcset` of a picture.
 */
const OF_ITS_OWN = /^(?:script|style|textarea|title|template|img)$/i
const CLASS_LIST = Symbol('class list')
const NO_STYLE = Object.freeze({})
const ELEMENT = 1
/** A selector that consists only of element names. */
const NAMES = /^[a-z][a-z0-9]*(?:,[a-z][a-z0-9]*)*$/

/** The changes below are not part of linkedom's interface, and may not fit another version. */
const KNOWN_VERSION = '0.18.12'
let isLight = false

/**
 * Parses with linkedom, after making its classes lighter. Nodes get no events, for which each had a map in a weak map;
 * all elements have one shape, which V8 reads faster than seventy; the parts of a class or style are made on demand;
 * elements are found by their names without compiling a selector. An article costs half as much (1,756 pages of
 * documentation gave the same articles). Readability sees no difference. An unknown version of linkedom parses
 * unchanged.
 */
export function parsed(html: string, version = linkedom.version): { document: unknown } {
  if (!isLight && version === KNOWN_VERSION) {
    makeLight()
    isLight = true
  }
  return parseHTML(html) as unknown as { document: unknown }
}

function makeLight(): void {
  const { document } = parseHTML('<html>') as unknown as { document: Document }
  const documents = Object.getPrototypeOf(document) as Document
  const createElement = documents.createElement
  const plain = document.createElement('section')
  const HtmlElement = plain.constructor as Class
  documents.createElement = function (this: Document, name, options): Element {
    const isPlain = options === undefined && !OF_ITS_OWN.test(name)
    return isPlain ? new HtmlElement(this, name) : createElement.call(this, name, options)
  }

  // From HTMLElement up: Element, ParentNode, Node, whose base has a constructor that makes a map for each node.
  const [, elements, parents, nodes] = ancestors(plain) as [unknown, Element, Parent, object]
  Object.setPrototypeOf(nodes.constructor, class {})
  findByName(parents, plain)
  const { classList, className, style } = Object.getOwnPropertyDescriptors(elements)
  type Listed = Element & { [CLASS_LIST]?: Element['classList'] }
  Object.defineProperties(elements, {
    classList: {
      get(this: Listed) {
        this[CLASS_LIST] ??= classList.get!.call(this) as Element['classList']
        return this[CLASS_LIST]
      },
    },
    className: {
      get(this: Listed) {
        return this[CLASS_LIST] ? this[CLASS_LIST].value : (this.getAttributeNode('class')?.value ?? '')
      },
      set(this: Listed, value: string) {
        const attribute = this[CLASS_LIST] ? null : this.getAttributeNode('class')
        if (attribute) attribute.value = /\s/.test(value) ? distinct(value) : value
        else className.set!.call(this, value)
      },
    },
    style: {
      get(this: Element) {
        return this.getAttributeNode('style') ? style.get!.call(this) : NO_STYLE
      },
    },
  })
}

/** Walks to the elements with certain names, as linkedom does with a compiled selector. */
function findByName(parents: Parent, element: object): void {
  const { querySelectorAll, getElementsByTagName } = parents
  const symbols = Object.getOwnPropertySymbols(element)
  const [next, end] = ['next', 'end'].map((name) => symbols.find(({ description }) => description === name)!) as [
    symbol,
    symbol,
  ]
  const Found = getElementsByTagName.call(element as Linked, 'a').constructor as Found
  parents.getElementsByTagName = function (name) {
    if (!NAMES.test(name)) return getElementsByTagName.call(this, name)
    const found = new Found()
    for (let node = this[next]!; node !== this[end]; node = node[next]!)
      if (node.localName === name && node.nodeType === ELEMENT) found.push(node)
    return found
  }
  parents.querySelectorAll = function (selectors) {
    if (!NAMES.test(selectors)) return querySelectorAll.call(this, selectors)
    const names = new Set(selectors.split(','))
    const isAsked = new Map<string, boolean>()
    const found = new Found()
    for (let node = this[next]!; node !== this[end]; ) {
      const { nodeType, localName } = node
      if (nodeType === ELEMENT) {
        // A name inside SVG may have capitals.
        const is = isAsked.get(localName) ?? names.has(localName.toLowerCase())
        isAsked.set(localName, is)
        if (is) found.push(node)
      }
      node = (nodeType === ELEMENT && localName === 'template' ? node[end] : node[next])!
    }
    return found
  }
}

/** The prototypes of an object, the nearest first. */
function ancestors(of: object): object[] {
  const prototype = Object.getPrototypeOf(of) as object | null
  return prototype ? [prototype, ...ancestors(prototype)] : []
}

/** The names of a class attribute, each once. */
function distinct(value: string): string {
  return [...new Set(value.split(/\s+/).filter(Boolean))].join(' ')
}
