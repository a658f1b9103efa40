import {
  ANIMATIONS,
  isAllowed,
  isAnimated,
  LEADING,
  linkOf,
  SHOWN,
  STYLED,
  type Verdict,
  verdictOn,
} from './allowed.ts'
import { inertCss } from './css.ts'
import { NOWHERE } from './nowhere.ts'
import {
  type Attribute,
  attribute,
  type ChildNode,
  type Element,
  HTML,
  inside,
  isElement,
  isText,
  nameOf,
  type ParentNode,
  SVG,
  setText,
  textOf,
} from './tree.ts'

/** The contents of a copy, by the marks that stand for them. */
export interface Within {
  /** Whether this may be shown, as part of the copy. */
  isShown(address: string): boolean
  /** Whether this is the document of a frame in the copy. */
  isDocument(address: string): boolean
  /** CSS that came out of `inertCss`, and need not be parsed again. */
  readonly inertCss: Set<string>
}

/** These lose their children. */
const NO_CHILDREN = new Set(['iframe', 'frame'])
const IMAGES = new Set(['image', 'feimage'])
/** Metadata that a part of a page may keep: nothing that affects how the page is read, or what is sent. */
const SHOWS_NOTHING = /^(?:referrer|monetization)$/i
const LINKS = /^(?:canonical|license|author)$/
const CHOICE = /^(\S+)(?: [\d.]+[wxh])?$/

/**
 * Removes from a tree everything that a copy may not have, templates and shadow roots included: whatever runs, loads,
 * sends or redirects. Only listed elements and attributes remain, and only addresses that are links, places in the
 * page, or part of the copy.
 */
export function clean(root: ParentNode, within: Within): void {
  const stack: ParentNode[] = [root]
  for (let parent = stack.pop(); parent; parent = stack.pop()) {
    const place = inside(parent)
    place.childNodes = place.childNodes.filter((child) => stays(child, within))
    for (const child of place.childNodes) if (isElement(child)) stack.push(child)
  }
}

function stays(node: ChildNode, within: Within): boolean {
  if (!isElement(node)) return isText(node)
  if (/^(?:xmp|listing|plaintext)$/.test(node.tagName)) node.nodeName = node.tagName = 'pre'
  const name = node.tagName.toLowerCase()
  const kind = node.namespaceURI === HTML ? 'html' : node.namespaceURI === SVG ? 'svg' : 'mathml'
  const verdict = verdictOn(kind, name)
  if (verdict === 'refused' || !isInert(node, name, within)) {
    if (kind === 'html') hide(node)
    return kind === 'html'
  }
  node.attrs = keptAttributes(node.attrs, name, verdict, within)
  if (NO_CHILDREN.has(name)) node.childNodes = []
  else if (name === 'style') setText(node, sheet(textOf(node), within))
  return true
}

/** Replaces an omitted element by an empty template, so that no other child becomes the first or the next. */
function hide(element: Element): void {
  element.nodeName = element.tagName = 'template'
  element.attrs = []
  element.childNodes = []
  Object.assign(element, { content: { nodeName: '#document-fragment', childNodes: [] } })
}

/** Makes the decisions that concern an element as a whole. */
function isInert(element: Element, name: string, within: Within): boolean {
  const value = (key: string) => attribute(element, key)
  if (name === 'meta')
    return (
      value('http-equiv') === undefined &&
      value('charset') === undefined &&
      !SHOWS_NOTHING.test(value('name')?.trim() ?? '')
    )
  if (name === 'link') {
    const rel = value('rel')?.trim().toLowerCase() ?? ''
    return rel === 'icon'
      ? within.isShown(value('href') ?? '')
      : LINKS.test(rel) && linkOf(value('href') ?? '') !== undefined
  }
  if (name === 'template' && value('shadowrootmode') === undefined) {
    hide(element)
    return true
  }
  if (name === 'frame') return within.isDocument(value('src') ?? '')
  return (
    !ANIMATIONS.has(name) || isAnimated((value('attributeName') ?? value('attributename') ?? 'transform').toLowerCase())
  )
}

/** The attributes that an element may keep, with permitted values: changes the given ones. */
export function keptAttributes(
  attributes: readonly Attribute[],
  name: string,
  verdict: Verdict,
  within: Within,
): Attribute[] {
  const isFrame = name === 'iframe' || name === 'frame'
  return attributes.filter((one) => {
    const key = nameOf(one).toLowerCase()
    if (STYLED.has(key)) one.value = sheet(one.value, within)
    if (isFrame && (key === 'src' || key === 'srcdoc'))
      return (key === 'src') === (name === 'frame') && within.isDocument(one.value)
    if (isFrame && key === 'name') return false
    if (SHOWN.has(key)) {
      if (within.isShown(one.value)) return verdict === 'known'
      if (key !== 'src' || name !== 'img') return false
      // It is shown like a picture that the page could not load.
      one.value = NOWHERE
      return true
    }
    if (LEADING.has(key)) {
      one.value = leading(one.value, name, within)
      return verdict === 'known' && one.value !== ''
    }
    if (key === 'srcset') return verdict === 'known' && within.isShown(CHOICE.exec(one.value)?.[1] ?? '')
    if (key === 'usemap') return one.value.startsWith('#')
    return isAllowed(key, verdict)
  })
}

/** The permitted form of the address of a link, or of what an element of a drawing shows; '' when it is left out. */
function leading(value: string, name: string, within: Within): string {
  if (name === 'a' || name === 'area') return linkOf(value) ?? NOWHERE
  if (value.startsWith('#')) return value
  if (name === 'link') return within.isShown(value) ? value : (linkOf(value) ?? '')
  return IMAGES.has(name) && within.isShown(value) ? value : ''
}

function sheet(css: string, { isShown, inertCss: known }: Within): string {
  if (known.has(css)) return css
  const inert = inertCss(css, (url) => (url.startsWith('#') || isShown(url) ? url : NOWHERE))
  known.add(inert)
  return inert
}
