import { defaultTreeAdapter, serialize, serializeOuter, html as spec } from 'parse5'
import { clean, type Within } from './clean.ts'
import { readTree, unlessRefused } from './read-tree.ts'
import {
  type ChildNode,
  type Document,
  type Element,
  elementIn,
  HTML,
  inside,
  isElement,
  isText,
  nameOf,
  type ParentNode,
  setText,
  type TextNode,
  textOf,
} from './tree.ts'

/** How many times a page is written and parsed again. */
const MOST_ROUNDS = 5
/** A page that grows by more than this from round to round will not settle. */
const MOST_GROWTH = 4
/** Text in these would be moved out of them by a parser. */
const NO_TEXT = /^(?:table|tbody|thead|tfoot|tr|colgroup|select|optgroup|frameset)$/

/** Doctypes that make a browser draw a page in its original mode. */
const DOCTYPES: Readonly<Record<string, string>> = {
  [spec.DOCUMENT_MODE.NO_QUIRKS]: '<!doctype html>',
  [spec.DOCUMENT_MODE.LIMITED_QUIRKS]: '<!doctype html public "-//W3C//DTD XHTML 1.0 Transitional//EN" "">',
  [spec.DOCUMENT_MODE.QUIRKS]: '<!doctype html public "-//W3C//DTD HTML 3.2//EN">',
}

/** The text of a page in its parts, which does not change when a browser parses it. */
export interface Settled {
  readonly doctype: string
  /** The tag of the `html` element. */
  readonly html: string
  /** The content of the head. */
  readonly head: string
  /** The body with its tags, or the frameset in its place. */
  readonly body: string
}

/**
 * Writes a tree without the parts that a copy may not have (`clean`), in a form that stays the same when a browser
 * parses it: hostile pages have text that becomes markup when it is parsed again. So it is parsed by the rules of
 * browsers until two rounds agree; whatever still changes then becomes text.
 * @param page is changed
 */
export function settled(page: Document, within: Within): Settled {
  const doctype = DOCTYPES[page.mode]!
  let tree = page
  clean(tree, within)
  let before = partsOf(tree, doctype)
  const most = MOST_GROWTH * before.body.length + 10_000
  for (let round = 1; ; round += 1) {
    const text = `${before.doctype}${before.html}<head>${before.head}</head>${before.body}</html>`
    const next = unlessRefused(() => readTree(text))
    if (!next) return inText(tree, before)
    clean(next, within)
    const now = partsOf(next, doctype)
    if (now.body === before.body && now.head === before.head && now.html === before.html) return now
    if (round > MOST_ROUNDS || now.body.length > most) return inText(next, now)
    if (round === MOST_ROUNDS) flatten(bodyOf(tree), bodyOf(next))
    else tree = next
    before = partsOf(tree, doctype)
  }
}

/** A parser drops a line break at the beginning of these. */
const DROPS_BREAK = /^(?:pre|textarea|listing)$/
const treeAdapter = {
  ...defaultTreeAdapter,
  getTextNodeContent(node: TextNode): string {
    const { parentNode: parent, value } = node
    const isDropped =
      value.startsWith('\n') && parent && DROPS_BREAK.test(parent.nodeName) && inside(parent).childNodes[0] === node
    return isDropped ? `\n${value}` : value
  },
}

function partsOf(tree: Document, doctype: string): Settled {
  const html = elementIn(tree, 'html')!
  const tag = serializeOuter({ ...html, childNodes: [] }, { treeAdapter }).slice(0, -'</html>'.length)
  const head = elementIn(html, 'head')
  return {
    doctype,
    html: tag,
    head: head ? serialize(head, { treeAdapter }) : '',
    body: serializeOuter(bodyOf(tree), { treeAdapter }),
  }
}

function bodyOf(tree: Document): Element {
  const html = elementIn(tree, 'html')!
  return elementIn(html, 'frameset') ?? elementIn(html, 'body')!
}

/** Only the words of a page. */
function inText(tree: Document, parts: Settled): Settled {
  const body = bodyOf(tree)
  const text = textOf(body)
  Object.assign(body, { nodeName: 'body', tagName: 'body', attrs: [] })
  setText(body, text)
  return { ...parts, html: '<html>', head: '', body: serializeOuter(body, { treeAdapter }) }
}

/** Turns each element into text whose children differ after parsing again. */
function flatten(root: Element, again: Element): void {
  const pairs: (readonly [ParentNode, ParentNode])[] = [[root, again]]
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const [ones, others] = pair.map((parent) => inside(parent).childNodes) as [ChildNode[], ChildNode[]]
    const isSame = ones.length === others.length && ones.every((one, at) => isAlike(one, others[at]!))
    if (isSame) {
      for (const [at, one] of ones.entries()) if (isElement(one)) pairs.push([one, others[at] as Element])
    } else makeText(pair[0], root)
  }
}

function isAlike(one: ChildNode, other: ChildNode): boolean {
  if (isText(one) && isText(other)) return one.value === other.value
  if (!isElement(one) || !isElement(other)) return false
  const written = ({ tagName, namespaceURI, attrs }: Element) =>
    JSON.stringify([tagName, namespaceURI, attrs.map((attr) => [nameOf(attr), attr.value])])
  return written(one) === written(other)
}

/** Turns the nearest element that may contain text into text. */
function makeText(parent: ParentNode, root: Element): void {
  let place: ParentNode = parent
  while (place !== root && !(isHtml(place) && !NO_TEXT.test(place.nodeName))) {
    if (!('parentNode' in place) || place.parentNode === null) place = root
    else place = place.parentNode
  }
  setText(place, textOf(place))
}

const isHtml = (node: ParentNode): boolean => 'namespaceURI' in node && node.namespaceURI === HTML
