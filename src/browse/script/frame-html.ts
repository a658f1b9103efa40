import { FrameAttributes } from './frame-attributes.ts'
import { adoptedStyles, styleElement, styleText } from './frame-styles.ts'
import { escaped, isHtml } from './markup.ts'
import type { Scripts } from './scripts.ts'
import { reader, shadowOf } from './world.ts'

const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))
const DROPPED = new Set('script noscript base noembed noframes'.split(' '))
const EMPTY = new Set(['template', 'iframe'])
/** Written as `pre`: a parser takes their content literally, and everything after `plaintext`, too. */
const VERBATIM = new Set('xmp plaintext listing'.split(' '))

const typeOf = reader(Node, 'nodeType')
const childrenOf = reader(Node, 'childNodes')
const parentOf = reader(Node, 'parentNode')
const nameOf = reader(Element, 'localName')

/**
 * Serializes the document with state that HTML itself lacks: styles that scripts made or changed, adopted style sheets,
 * shadow roots, the contents of canvases and form fields (never a password), the chosen picture of several, a frame of
 * a video without a poster. Scripts are left out, and URLs are absolute.
 */
const frameHtml: Scripts['frame-html'] = () => {
  const root = reader(Document, 'documentElement')(document)
  const doctype = reader(Document, 'doctype')(document)
  const body = reader(Document, 'body')(document)
  const sheets = reader(Document, 'adoptedStyleSheets')(document)
  const base = reader(Node, 'baseURI')(document)
  const attributes = new FrameAttributes(base)
  globalThis.framesOfPage = attributes.framing
  globalThis.picturedOfPage = attributes.pictured

  const inside = (parent: Node): string => Array.from(childrenOf(parent), write).join('')
  const write = (node: Node): string => {
    const type = typeOf(node)
    if (type === Node.TEXT_NODE || type === Node.CDATA_SECTION_NODE) return escaped((node as Text).data)
    return type === Node.ELEMENT_NODE ? element(node as Element) : ''
  }
  const element = (node: Element): string => {
    const isKnown = isHtml(node)
    const name = isKnown && VERBATIM.has(nameOf(node)) ? 'pre' : nameOf(node)
    if (DROPPED.has(name) || (name === 'source' && (parentOf(node) as Element).localName === 'picture')) return ''
    if (name === 'style') return styleElement(styleText(node as HTMLStyleElement), mediaOf(node as HTMLStyleElement))
    if (name === 'link' && isUnused(node as HTMLLinkElement)) return ''
    const tag = `<${name}${attributes.of(node)}>`
    if (isKnown && VOID.has(name)) return tag
    const shade = shadowOf(node)
    const shadow = shade
      ? `<template shadowrootmode="open">${inside(shade)}${adoptedStyles(shade, shade.adoptedStyleSheets)}</template>`
      : ''
    // A parser drops a line break at the beginning of these.
    const first = isKnown && /^(?:pre|textarea)$/.test(name) ? '\n' : ''
    const isField = isKnown && name === 'textarea'
    const content = isField
      ? escaped((node as HTMLTextAreaElement).value)
      : isKnown && EMPTY.has(name)
        ? ''
        : inside(node)
    return `${tag}${shadow}${first}${content}${node === body ? adoptedStyles(document, sheets) : ''}</${name}>`
  }
  const html = (doctype ? new XMLSerializer().serializeToString(doctype) : '') + write(root)
  return { html, base, pictured: attributes.pictures, framing: attributes.framing.length }
}
export default frameHtml

const mediaOf = ({ sheet, media }: HTMLStyleElement) => (sheet?.disabled ? 'not all' : media)

/** A style sheet that does not apply: an alternative one, or one that is disabled. */
const isUnused = ({ rel, title, sheet }: HTMLLinkElement) =>
  (/\balternate\b/i.test(rel) && title) || (/\bstylesheet\b/i.test(rel) && sheet?.disabled !== false)
