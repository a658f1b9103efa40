import { type DefaultTreeAdapterTypes, html as spec } from 'parse5'

export type Element = DefaultTreeAdapterTypes.Element
export type Document = DefaultTreeAdapterTypes.Document
export type DocumentFragment = DefaultTreeAdapterTypes.DocumentFragment
export type ParentNode = DefaultTreeAdapterTypes.ParentNode
export type ChildNode = DefaultTreeAdapterTypes.ChildNode
type Template = DefaultTreeAdapterTypes.Template
export type TextNode = DefaultTreeAdapterTypes.TextNode
export type Attribute = Element['attrs'][number]

export const { HTML, SVG, MATHML } = spec.NS

export const isElement = (node: ChildNode): node is Element => 'tagName' in node
export const isText = (node: ChildNode): node is TextNode => node.nodeName === '#text'
const isTemplate = (node: ParentNode): node is Template => 'content' in node

/** The children of a node; of a template, its content. */
export function inside(node: ParentNode): ParentNode {
  return isTemplate(node) ? node.content : node
}

/** The first child of this name. */
export function elementIn(parent: ParentNode, name: string): Element | undefined {
  return parent.childNodes.find((node): node is Element => isElement(node) && node.tagName === name)
}

/**
 * Yields every element under a node, parents first; changes that a visitor makes to the children of one take effect.
 * Works at any depth.
 */
export function* elementsIn(root: ParentNode): Generator<Element, void> {
  const stack: ParentNode[] = [root]
  for (let parent = stack.pop(); parent; parent = stack.pop()) {
    for (const child of [...inside(parent).childNodes]) {
      if (!isElement(child)) continue
      yield child
      stack.push(child)
    }
  }
}

/** The name of an attribute as written: `xlink:href`. */
export const nameOf = ({ prefix, name }: Attribute): string => (prefix ? `${prefix}:${name}` : name)

export function attribute(element: Element, name: string): string | undefined {
  return element.attrs.find((one) => nameOf(one) === name)?.value
}

/** Sets an attribute, which may exist; undefined removes it. */
export function setAttribute(element: Element, name: string, value: string | undefined): void {
  const known = element.attrs.find((one) => nameOf(one) === name)
  if (value === undefined) element.attrs = element.attrs.filter((one) => one !== known)
  else if (known) known.value = value
  else element.attrs.push({ name, value })
}

/** Turns an element into an empty one of another name. */
export function rename(element: Element, name: string): void {
  element.nodeName = element.tagName = name
  element.childNodes = []
}

export function setText(parent: ParentNode, value: string): void {
  inside(parent).childNodes = [{ nodeName: '#text', value, parentNode: parent }]
}

/** All text under a node. */
export function textOf(root: ParentNode): string {
  const stack: ChildNode[] = [...inside(root).childNodes].reverse()
  let text = ''
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (isText(node)) text += node.value
    else if (isElement(node)) for (const child of [...inside(node).childNodes].reverse()) stack.push(child)
  }
  return text
}
